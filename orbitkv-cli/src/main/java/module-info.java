/** The {@code orbitkv} command. */
module io.orbitkv.cli {
  requires HdrHistogram;
  requires ch.qos.logback.classic;
  requires ch.qos.logback.core;
  requires info.picocli;
  requires io.orbitkv.core;
  requires io.orbitkv.pd.composition;
  requires io.prometheus.metrics.config;
  requires io.prometheus.metrics.model;
  requires io.prometheus.writer.text;
  requires java.management;
  requires java.net.http;
  requires jdk.httpserver;
  requires me.tongfei.progressbar;
  requires org.slf4j;
  requires tools.jackson.databind;

  // Not named in the code, only found as services: what the command ships with, and what takes System.Logger to
  // Logback.
  requires io.orbitkv.backend.dram;
  requires io.orbitkv.backend.gpu.cuda;
  requires io.orbitkv.backend.iouring;
  requires org.slf4j.jdk.platform.logging;

  provides ch.qos.logback.classic.spi.Configurator with io.orbitkv.cli.logging.CommandLog;

  // Options are found by their annotations.
  opens io.orbitkv.cli to info.picocli;
}
