/** Measurements of single pieces of code, each beside a reference in the same run. Open, since JMH reflects on it. */
open module io.orbitkv.benchmarks {
  requires io.orbitkv.backend.dram;
  requires io.orbitkv.core;
  // JMH measures with it and cannot say so, being an automatic module.
  requires jdk.unsupported;
  requires jmh.core;
}
