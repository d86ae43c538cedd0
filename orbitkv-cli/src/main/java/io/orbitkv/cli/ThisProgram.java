package io.orbitkv.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How this program is started once more: with the same Java and the same modules. */
final class ThisProgram {

  private ThisProgram() {}

  /** Returns a command line of its own, of a process with little memory. */
  static List<String> command(List<String> arguments) {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC", "-Xmx512m",
        "--module-path", System.getProperty("jdk.module.path"),
        "--enable-native-access=io.orbitkv.backend.dram,io.orbitkv.backend.iouring",
        "--module", Main.class.getModule().getName() + "/" + Main.class.getName()));
    command.addAll(arguments);
    return command;
  }
}
