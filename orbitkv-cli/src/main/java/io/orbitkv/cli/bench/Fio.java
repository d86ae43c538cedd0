package io.orbitkv.cli.bench;

import io.orbitkv.api.UnavailableException;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The yardstick: fio on a file of its own, through io_uring with direct I/O and registered files and buffers.
 *
 * <p>fio's own memory options know huge pages only where an administrator has reserved some. The C library that it runs
 * on can ask for transparent ones instead, as the cache's memory does, so that is how it is told to.
 */
final class Fio {

  private static final String MALLOC_ON_HUGE_PAGES = "glibc.malloc.hugetlb=1";

  private final Path program;
  private final Path file;
  private final long fileBytes;
  private final int depth;
  private final boolean hugePages;
  private long writeAt;

  private Fio(Path program, Path file, long fileBytes, int depth, boolean hugePages) {
    this.program = program;
    this.file = file;
    this.fileBytes = fileBytes;
    this.depth = depth;
    this.hugePages = hugePages;
  }

  /**
   * One run.
   *
   * @param mebibytesPerSecond what fio says
   * @param hugePageBytes the most that its process was seen to have on huge pages
   */
  record Run(double mebibytesPerSecond, long hugePageBytes) {}

  /**
   * Finds fio on the search path.
   *
   * @param file the file that it may write
   * @param fileBytes the file's size
   * @param depth requests in flight
   * @param hugePages whether its buffers shall lie on huge pages
   * @return fio, if it is installed
   */
  static Optional<Fio> find(Path file, long fileBytes, int depth, boolean hugePages) {
    return Pattern.compile(File.pathSeparator).splitAsStream(System.getenv().getOrDefault("PATH", ""))
        .filter(folder -> !folder.isEmpty())
        .map(folder -> Path.of(folder, "fio"))
        .filter(Files::isExecutable)
        .findFirst()
        .map(program -> new Fio(program, file, fileBytes, depth, hugePages));
  }

  /** Writes the whole file once, so that no later run pays for what a file system does at a first write. */
  void prepare() throws InterruptedException {
    run("write", 1 << 20, fileBytes);
  }

  /**
   * Transfers so many bytes in blocks: in a row, or from random places.
   *
   * @param mode fio's name of it, "write" or "randread"
   * @param blockBytes bytes of a request
   * @param bytes bytes in all
   */
  Run run(String mode, long blockBytes, long bytes) throws InterruptedException {
    List<String> command = new ArrayList<>(List.of(
        program.toString(), "--name=orbitkv", "--thread", "--filename=" + file, "--rw=" + mode, "--bs=" + blockBytes,
        "--offset=" + offset(mode, bytes), "--size=" + (mode.equals("write") ? bytes : fileBytes), "--io_size=" + bytes,
        "--ioengine=io_uring", "--direct=1", "--iodepth=" + depth,
        "--fixedbufs=1", "--registerfiles=1", "--randrepeat=0", "--iomem=malloc", "--iomem_align=2m",
        "--output-format=json"));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    if (hugePages) {
      builder.environment().put("GLIBC_TUNABLES", MALLOC_ON_HUGE_PAGES);
    }
    try {
      Path output = Files.createTempFile("orbitkv-fio", ".json");
      try {
        Process process = builder.redirectOutput(output.toFile()).start();
        long hugePageBytes = 0;
        while (!process.waitFor(20, TimeUnit.MILLISECONDS)) {
          hugePageBytes = Math.max(hugePageBytes, HugePages.of(process.pid()));
        }
        return new Run(bandwidth(Files.readString(output), mode, process.exitValue()), hugePageBytes);
      } finally {
        Files.delete(output);
      }
    } catch (IOException e) {
      throw new UnavailableException("fio cannot be run: " + e.getMessage(), e);
    }
  }

  /** Writes go on where the last ones ended, as the store's do: what was just written is faster to write again. */
  private long offset(String mode, long bytes) {
    if (!mode.equals("write")) {
      return 0;
    }
    long offset = writeAt + bytes > fileBytes ? 0 : writeAt;
    writeAt = offset + bytes;
    return offset;
  }

  /** fio prints notes before its JSON object. */
  private static double bandwidth(String output, String mode, int exitValue) {
    int start = output.indexOf('{');
    if (exitValue != 0 || start < 0) {
      throw new UnavailableException("fio ended with " + exitValue + ": " + firstLine(output));
    }
    try {
      JsonNode job = new JsonMapper().readTree(output.substring(start)).path("jobs").path(0);
      return job.path(mode.endsWith("read") ? "read" : "write").path("bw_bytes").asDouble() / (1 << 20);
    } catch (JacksonException e) {
      throw new UnavailableException("fio's output is not understood: " + e.getOriginalMessage(), e);
    }
  }

  private static String firstLine(String text) {
    try (Stream<String> lines = text.lines()) {
      return lines.findFirst().orElse("no output");
    }
  }
}
