package io.orbitkv.backend.iouring.store;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A {@link StoreProcess} in a virtual machine of its own. */
final class ChildProcess implements AutoCloseable {

  private final Process process;
  private final Path errors;
  private final List<String> lines = new ArrayList<>();
  private final CompletableFuture<Boolean> ready = new CompletableFuture<>();
  private final Thread reader;

  /**
   * Starts it.
   *
   * @param firstNumber of the extents that it makes, or "hold"
   */
  ChildProcess(String backend, Path folder, long capacity, String segmentBytes, String firstNumber)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
        "--enable-native-access=ALL-UNNAMED", "-cp",
        System.getProperty("jdk.module.path") + File.pathSeparator + System.getProperty("orbitkv.test.classes"),
        StoreProcess.class.getName(), backend, folder.toString(), Long.toString(capacity), segmentBytes, firstNumber));
    errors = folder.resolveSibling("errors-" + firstNumber);
    process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    // Reads all the time: a process that waits for room in its pipe would do nothing worth killing.
    reader = Thread.ofPlatform().start(this::read);
  }

  private void read() {
    try (BufferedReader output = process.inputReader()) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        if (line.equals("ready")) {
          ready.complete(true);
        } else {
          lines.add(line);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      ready.complete(false);
    }
  }

  long pid() {
    return process.pid();
  }

  /** Waits for the store to be open. */
  void awaitReady() throws IOException {
    if (!ready.join()) {
      throw new AssertionError("the process ended: " + Files.readString(errors));
    }
  }

  /** Whether it has said that the store is open. */
  boolean isReady() {
    return ready.getNow(false);
  }

  void requireAlive() throws IOException {
    if (!process.isAlive()) {
      throw new AssertionError("the process ended: " + Files.readString(errors));
    }
  }

  /** Kills it, without a chance to do anything more, and returns what it had said so far. */
  List<String> kill() throws InterruptedException {
    // The handle's way: the process's own would close its output as well.
    process.toHandle().destroyForcibly();
    reader.join();
    process.onExit().join();
    return lines;
  }

  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
