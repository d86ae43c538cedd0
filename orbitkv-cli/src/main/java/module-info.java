/** The {@code orbitkv} command. */
module io.orbitkv.cli {
  requires HdrHistogram;
  requires info.picocli;
  requires io.orbitkv.core;
  requires java.logging;
  requires me.tongfei.progressbar;
  requires tools.jackson.databind;

  // Not named in the code, only found as services: what the command ships with.
  requires io.orbitkv.backend.dram;
  requires io.orbitkv.backend.iouring;

  // Options are found by their annotations.
  opens io.orbitkv.cli to info.picocli;
}
