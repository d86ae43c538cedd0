package io.orbitkv.cli.bench;

import io.orbitkv.api.Cache;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.cli.terminal.Progress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Times lookups of a Python process through a Manager of this process, beside a bare echo of the same bytes over the same
 * kind of socket, in alternation.
 */
public final class ManagerLookupBench {

  private static final String INSTANCE = "bench";

  private final LookupBench.Settings blocks;
  private final int rounds;
  private final int lookups;

  /**
   * @param blocks how many are resident, and how many a prompt has
   * @param rounds rounds of each kind
   * @param lookups of each kind, a round
   */
  public ManagerLookupBench(LookupBench.Settings blocks, int rounds, int lookups) {
    this.blocks = blocks;
    this.rounds = rounds;
    this.lookups = lookups;
  }

  /**
   * Where the Python side is.
   *
   * @param interpreter an interpreter that has msgspec
   * @param script {@code manager_lookup.py}
   * @param packages the folder of the package {@code orbitkv_wire}
   */
  public record Python(String interpreter, Path script, Path packages) {}

  /**
   * What was measured, in nanoseconds.
   *
   * @param times by kind: "echo", "hit", "miss", "release" and "encode", the last without a socket
   */
  public record Result(Map<String, Histogram> times) {

    /** Returns a percentile of one kind. */
    public long nanos(String kind, double percentile) {
      return times.get(kind).getValueAtPercentile(percentile);
    }

    /** Returns the median of a kind over that of the echo. */
    public double ratio(String kind) {
      return nanos(kind, 50) / (double) nanos("echo", 50);
    }
  }

  /**
   * Fills the Manager's cache and measures.
   *
   * @param cache a client of the Manager, which is empty
   * @param manager the Manager's socket
   * @param scratch a folder on the same file system as it, for the echo's socket
   * @param python the other side
   * @param progress told of resident blocks
   * @throws InterruptedException if the thread was interrupted
   */
  public Result run(Cache cache, Path manager, Path scratch, Python python, Progress progress)
      throws InterruptedException {
    Namespace namespace = Namespace.builder("orbitkv-bench", "1", Digest.ZERO).build();
    int chains = blocks.resident() / blocks.chainBlocks();
    try (Session session = cache.attach(
        new SessionSpec(INSTANCE, namespace, ShardLayout.single(MemoryPool.ALIGNMENT)))) {
      for (int i = 0; i < chains; i++) {
        LookupBench.save(session, blocks.chain(i));
        progress.advanceTo((long) (i + 1) * blocks.chainBlocks());
      }
    }
    String input = new JsonMapper().createObjectNode()
        .put("instance", INSTANCE + "-python")
        .put("incarnation", ProcessHandle.current().pid())
        .put("namespace", namespace.digest().toHex())
        .put("shard_bytes", MemoryPool.ALIGNMENT)
        .put("hit", hex(blocks.chain(chains / 2)))
        .put("miss", hex(blocks.chain(chains)))
        .put("rounds", rounds)
        .put("lookups", lookups)
        .toString();
    try (EchoServer echo = new EchoServer(scratch.resolve("echo.sock"))) {
      return times(output(manager, echo.socket(), python, scratch, input));
    }
  }

  private static String output(Path manager, Path echo, Python python, Path scratch, String input)
      throws InterruptedException {
    Path settings = scratch.resolve("lookup.json");
    Path output = scratch.resolve("times.json");
    try {
      Files.writeString(settings, input);
      ProcessBuilder builder = new ProcessBuilder(
          python.interpreter(), python.script().toString(), manager.toString(), echo.toString());
      builder.environment().put("PYTHONPATH", python.packages().toString());
      Process process = builder.redirectInput(settings.toFile()).redirectOutput(output.toFile())
          .redirectError(ProcessBuilder.Redirect.INHERIT).start();
      int status = process.waitFor();
      if (status != 0) {
        throw new UnavailableException(python.script() + " ended with " + status + "; its own words are above");
      }
      return Files.readString(output);
    } catch (IOException e) {
      throw new UnavailableException("'" + python.interpreter() + "' cannot be run: " + e.getMessage()
          + "; name one that has msgspec with --python", e);
    }
  }

  private Result times(String output) {
    try {
      JsonNode measured = new JsonMapper().readTree(output);
      Map<String, Histogram> times = new LinkedHashMap<>();
      for (String kind : measured.propertyNames()) {
        Histogram histogram = new Histogram(3);
        // The first round warms up both sides.
        int skip = measured.path(kind).size() / rounds;
        for (int i = skip; i < measured.path(kind).size(); i++) {
          histogram.recordValue(measured.path(kind).path(i).asLong());
        }
        times.put(kind, histogram);
      }
      return new Result(times);
    } catch (JacksonException e) {
      throw new UnavailableException("the times are not understood: " + e.getOriginalMessage(), e);
    }
  }

  private static String hex(PrefixChain chain) {
    ByteBuffer hashes = ByteBuffer.allocate(chain.blocks() * Digest.BYTES);
    chain.write(hashes);
    return HexFormat.of().formatHex(hashes.array());
  }
}
