package io.orbitkv.backend.gpu.cuda.device;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** An engine of its own process on the GPU: {@code src/test/device/engine.py}. */
final class EngineProcess implements AutoCloseable {

  private final Process process;
  private final BufferedReader answers;
  private final Writer requests;

  EngineProcess(Path script) {
    try {
      process = new ProcessBuilder("python3", script.toString()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    answers = process.inputReader();
    requests = process.outputWriter();
  }

  String ask(String request) {
    try {
      requests.write(request + "\n");
      requests.flush();
      String answer = answers.readLine();
      if (answer == null) {
        throw new IllegalStateException("the engine ended at: " + request);
      }
      return answer;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Kills it, and returns when it is gone. */
  void kill() throws InterruptedException {
    process.destroyForcibly();
    if (!process.waitFor(20, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the engine does not end");
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
