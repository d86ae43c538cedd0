package io.orbitkv.core.sim;

import io.orbitkv.api.Cache;
import io.orbitkv.core.Javac;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A fault that somebody might make in the core: one change of its source text. It is planted in a copy of the sources,
 * which is compiled and simulated in a process of its own.
 *
 * @param invariant the invariant of the core that it breaks, 1 to 12
 * @param what the fault in words
 * @param file the source file, below {@code io/orbitkv/core}
 * @param find text that is in the file exactly once
 * @param replacement what stands there instead
 */
record PlantedBug(int invariant, String what, String file, String find, String replacement) {

  private static final Path SOURCES = Path.of("src", "main", "java");
  private static final int MAX_SEEDS = 8_000;
  private static final long LIMIT_SECONDS = 600;

  /**
   * Simulates the core with the fault.
   *
   * @param scratch an empty folder
   * @return the first line of output, a seed and what it found; empty if all seeds passed
   */
  String simulate(Path scratch) throws IOException, InterruptedException, URISyntaxException {
    Path classes = compile(plant(scratch.resolve("sources")), scratch.resolve("classes"));
    Path output = scratch.resolve("output.txt");
    String classPath = String.join(
        File.pathSeparator, classes.toString(), Javac.placeOf(SimulatorMain.class), Javac.placeOf(Cache.class));
    // Short runs: what the second compiler would gain it would not earn back.
    Process simulator = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", classPath, SimulatorMain.class.getName(),
        "--seeds", Integer.toString(MAX_SEEDS)).redirectErrorStream(true).redirectOutput(output.toFile()).start();
    try {
      if (!simulator.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
        throw new AssertionError("the simulator was not done with " + MAX_SEEDS + " seeds in " + LIMIT_SECONDS + " s");
      }
    } finally {
      simulator.destroyForcibly();
    }
    List<String> lines = Files.readAllLines(output);
    return switch (simulator.exitValue()) {
      case 0 -> "";
      case SimulatorMain.FOUND -> lines.getFirst();
      default -> throw new AssertionError("the simulator exited with " + simulator.exitValue() + ": " + lines);
    };
  }

  /** Copies the sources with the change. They are compiled without modules: the tests' classes go beside them. */
  private List<String> plant(Path copy) throws IOException {
    List<String> files = new ArrayList<>();
    try (Stream<Path> sources = Files.walk(SOURCES)) {
      for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
        if (!source.endsWith("module-info.java")) {
          Path target = copy.resolve(SOURCES.relativize(source));
          Files.createDirectories(target.getParent());
          Files.writeString(target, source.endsWith(Path.of("io", "orbitkv", "core").resolve(file))
              ? changed(Files.readString(source)) : Files.readString(source));
          files.add(target.toString());
        }
      }
    }
    return files;
  }

  private String changed(String text) {
    int at = text.indexOf(find);
    if (at < 0 || text.indexOf(find, at + 1) >= 0) {
      throw new AssertionError(
          "the text to change is " + (at < 0 ? "not" : "more than once") + " in " + file + ": " + find);
    }
    return text.substring(0, at) + replacement + text.substring(at + find.length());
  }

  private static Path compile(List<String> files, Path classes) throws URISyntaxException {
    List<String> arguments = new ArrayList<>(
        List.of("-nowarn", "-proc:none", "-cp", Javac.placeOf(Cache.class), "-d", classes.toString()));
    arguments.addAll(files);
    Javac.compile(arguments);
    return classes;
  }

  @Override
  public String toString() {
    return invariant + ": " + what;
  }
}
