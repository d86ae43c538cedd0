/** The {@code orbitkv} command. */
module io.orbitkv.cli {
  requires HdrHistogram;
  requires info.picocli;
  requires io.orbitkv.core;
  requires me.tongfei.progressbar;
  requires tools.jackson.databind;

  // Options are found by their annotations.
  opens io.orbitkv.cli to info.picocli;
}
