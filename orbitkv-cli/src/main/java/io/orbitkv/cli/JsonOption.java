package io.orbitkv.cli;

import io.orbitkv.api.RefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Option;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Figures for a program: one JSON object in a file. */
final class JsonOption {

  @Option(names = "--json", paramLabel = "FILE", description = "Also write the figures to a file, as one JSON object.")
  private Path file;

  /** Refuses a file that cannot be written, before the work rather than after it. */
  void check() {
    if (file == null) {
      return;
    }
    Path folder = file.toAbsolutePath().getParent();
    if (Files.isDirectory(file) || !Files.isDirectory(folder) || !Files.isWritable(folder)) {
      throw new RefusedException("--json '" + file + "' cannot be written; expected a file in a folder that exists");
    }
  }

  /** Writes the figures, if a file was named. */
  void write(ObjectNode figures) {
    if (file == null) {
      return;
    }
    try {
      Files.writeString(file, text(figures) + "\n");
    } catch (IOException e) {
      throw new RefusedException("--json '" + file + "' cannot be written: " + e.getMessage(), e);
    }
  }

  /** Returns the figures as indented text. */
  static String text(ObjectNode figures) {
    return JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build().writeValueAsString(figures);
  }
}
