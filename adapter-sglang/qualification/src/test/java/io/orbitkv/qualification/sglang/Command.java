package io.orbitkv.qualification.sglang;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A command that has ended.
 *
 * @param status its exit code
 * @param output what it printed, errors included
 */
record Command(int status, String output) {

  /** Runs a command, and kills it and all that it started if it takes longer. */
  static Command run(List<String> words, Map<String, String> environment, Duration limit, Path folder)
      throws IOException, InterruptedException {
    Path output = Files.createTempFile(folder, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(output.toFile());
    builder.environment().putAll(environment);
    Process process = builder.start();
    try {
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        return new Command(-1, Files.readString(output) + "\nnot ended in " + limit);
      }
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
    return new Command(process.exitValue(), Files.readString(output));
  }
}
