package io.orbitkv.cli.process;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How this program is started once more: with the same Java and the same modules. */
public final class ThisProgram {

  private static final String MAIN = "io.orbitkv.cli/io.orbitkv.cli.Main";

  /** Of a process that serves nobody. */
  private static final List<String> LITTLE_MEMORY = List.of("-XX:+UseSerialGC", "-Xmx512m");

  private ThisProgram() {}

  /** Returns a command line of its own, of a process with little memory. */
  public static List<String> command(List<String> arguments) {
    return command(LITTLE_MEMORY, arguments);
  }

  /**
   * Returns a command line of its own.
   *
   * @param memory options of its JVM
   * @param arguments the command and its options
   */
  static List<String> command(List<String> memory, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(memory);
    command.addAll(List.of(
        "--module-path", System.getProperty("jdk.module.path"),
        "--enable-native-access=io.orbitkv.backend.dram,io.orbitkv.backend.gpu.cuda,io.orbitkv.backend.iouring",
        "--module", MAIN));
    command.addAll(arguments);
    return command;
  }
}
