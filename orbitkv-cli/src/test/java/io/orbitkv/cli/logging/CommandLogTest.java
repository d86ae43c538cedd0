package io.orbitkv.cli.logging;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class CommandLogTest {

  @Test
  void command_logsFaultsOnly_aLineEachWithoutTraces() throws Exception {
    List<String> lines = run();

    assertThat(lines).startsWith("WARN: before all", "WARN: fault \"quoted\" and a second line", "ERROR: failure")
        .contains("WARN: again 99").doesNotContain("INFO: course")
        .noneMatch(line -> line.startsWith("\tat "));
  }

  @Test
  void service_logsJson_aLineEach_andNotWithoutEnd() throws Exception {
    List<String> lines = run("service");

    // More than the burst if it takes more than a moment, by a few lines a second.
    assertThat(lines).startsWith("WARN: before all").hasSizeBetween(1 + RateLimit.BURST, LoggingMain.AGAIN / 2);
    List<JsonNode> events = lines.stream().skip(1).map(line -> new JsonMapper().readTree(line)).toList();
    assertThat(events.get(0).get("level").stringValue()).isEqualTo("INFO");
    assertThat(events.get(0).get("message").stringValue()).isEqualTo("course");
    assertThat(events.get(0).get("timestamp").longValue()).isPositive();
    assertThat(events.get(1).get("message").stringValue()).isEqualTo("fault \"quoted\"\nand a second line");
    assertThat(events.get(1).get("loggerName").stringValue()).isEqualTo("io.orbitkv.core.Planted");
    assertThat(events.get(2).at("/throwable/message").stringValue()).isEqualTo("broken");
    assertThat(events.get(0).propertyNames()).doesNotContain("context", "sequenceNumber", "mdc");
  }

  private static List<String> run(String... args) throws Exception {
    String modules = System.getProperty("jdk.module.path");
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--module-path", modules,
        "--patch-module", "io.orbitkv.cli=" + testClasses(),
        "--module", "io.orbitkv.cli/" + LoggingMain.class.getName()));
    command.addAll(List.of(args));
    Process process = new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(err).isZero();
    return err.lines().toList();
  }

  private static File testClasses() {
    return Path.of("target", "test-classes").toFile().getAbsoluteFile();
  }
}
