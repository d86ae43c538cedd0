package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.bench.SsdBench;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import io.orbitkv.core.EmbeddedCache.Builder;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv bench ssd}. */
@Command(
    name = "ssd",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Writes and reads blocks through a storage backend, checksums on, in turns with fio where it is installed.",
      "",
      "fio runs with the same block size and depth, through io_uring with direct I/O and registered files and buffers, "
          + "its buffers on the same kind of pages. The ratio is the median over the rounds.",
      ""
    })
final class BenchSsdCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Option(names = "--dir", required = true, paramLabel = "DIR",
      description = "A folder on the disk to measure. A folder of its own is made in it, and removed.")
  private Path directory;

  @Option(names = "--block-bytes", paramLabel = "SIZE", split = ",", defaultValue = "256KiB,2MiB",
      description = "Block sizes. Default: ${DEFAULT-VALUE}.")
  private List<ByteSize> blockBytes;

  @Option(names = "--depth", paramLabel = "N", defaultValue = "32",
      description = "Transfers in flight. Default: ${DEFAULT-VALUE}.")
  private int depth;

  @Option(names = "--file-bytes", paramLabel = "SIZE", defaultValue = "8GiB",
      description = "Size of each of the two files. Default: ${DEFAULT-VALUE}.")
  private ByteSize fileBytes;

  @Option(names = "--round-bytes", paramLabel = "SIZE", defaultValue = "2GiB",
      description = "Bytes of one timed round, with the summaries at its end. Default: ${DEFAULT-VALUE}.")
  private ByteSize roundBytes;

  @Option(names = "--rounds", paramLabel = "N", defaultValue = "15",
      description = "Timed rounds of each kind. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Option(names = "--storage", paramLabel = "NAME", defaultValue = Builder.DEFAULT_STORAGE,
      description = "Backend to measure. Default: ${DEFAULT-VALUE}.")
  private String storage;

  @Option(names = "--storage-setting", paramLabel = "KEY=VALUE",
      description = "A setting of the storage backend, as segment-bytes=256MiB; may be given again.")
  private Map<String, String> storageSettings = new LinkedHashMap<>();

  @Option(names = "--memory", paramLabel = "NAME", defaultValue = Builder.DEFAULT_MEMORY,
      description = "Provider of the buffers. Default: ${DEFAULT-VALUE}.")
  private String memory;

  @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  BenchSsdCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    if (!Files.isDirectory(directory)) {
      throw new RefusedException("--dir '" + directory + "' is not a folder; name one on the disk to measure");
    }
    Backends backends = plugins.backends();
    List<SsdBench.Result> results = new ArrayList<>();
    for (ByteSize block : blockBytes) {
      SsdBench.Settings settings = new SsdBench.Settings(
          block.bytes(), depth, fileBytes.bytes(), roundBytes.bytes(), rounds, storageSettings, seed);
      SsdBench bench = new SsdBench(settings, backends.storage(storage), backends.memory(memory));
      try (ScratchFolder folder = ScratchFolder.in(directory);
          Progress progress = terminal.progress("rounds of " + block, rounds)) {
        results.add(bench.run(folder.path(), progress));
      }
    }
    print(results, terminal.out());
    json.write(asJson(results));
    return ExitCode.OK;
  }

  private void print(List<SsdBench.Result> results, PrintWriter out) {
    out.printf(Locale.ROOT, "storage %s, depth %d, %d rounds of %s in files of %s, medians:%n",
        storage, depth, rounds, roundBytes, fileBytes);
    Table table = new Table("lrrrr").line("block", "", "MiB/s", "fio MiB/s", "ratio");
    for (SsdBench.Result result : results) {
      ByteSize block = new ByteSize(result.settings().blockBytes());
      table.line(cells(block, "write", result.write())).line(cells(block, "read", result.read()));
    }
    table.print(out);
    for (SsdBench.Result result : results) {
      out.printf(Locale.ROOT, "%s: buffers of %s in %s, %s of them on huge pages", new ByteSize(
              result.settings().blockBytes()), new ByteSize(result.bufferBytes()), result.memory(),
          new ByteSize(result.storeHugePageBytes()));
      out.println(result.write().fio().length == 0
          ? "; fio is not installed, so there is nothing to compare with"
          : "; fio had " + new ByteSize(result.fioHugePageBytes()) + " on huge pages");
    }
  }

  private static Object[] cells(ByteSize block, String direction, SsdBench.Rates rates) {
    return new Object[] {
      block,
      direction,
      rate(rates.storeMedian()),
      rates.fioMedian().map(BenchSsdCommand::rate).orElse("-"),
      rates.ratio().map(ratio -> String.format(Locale.ROOT, "%.3f", ratio)).orElse("-")
    };
  }

  private static String rate(double mebibytesPerSecond) {
    return String.format(Locale.ROOT, "%,.0f", mebibytesPerSecond);
  }

  private ObjectNode asJson(List<SsdBench.Result> results) {
    ObjectNode node = new JsonMapper().createObjectNode()
        .put("storage", storage)
        .put("depth", depth)
        .put("file_bytes", fileBytes.bytes())
        .put("round_bytes", roundBytes.bytes())
        .put("fio", results.stream().anyMatch(result -> result.write().fio().length > 0));
    ArrayNode array = node.putArray("blocks");
    for (SsdBench.Result result : results) {
      ObjectNode block = array.addObject()
          .put("block_bytes", result.settings().blockBytes())
          .put("memory", result.memory())
          .put("buffer_bytes", result.bufferBytes())
          .put("store_huge_page_bytes", result.storeHugePageBytes())
          .put("fio_huge_page_bytes", result.fioHugePageBytes());
      put(block, "write", result.write());
      put(block, "read", result.read());
    }
    return node;
  }

  private static void put(ObjectNode node, String direction, SsdBench.Rates rates) {
    node.put(direction + "_mib_s", rates.storeMedian());
    rates.fioMedian().ifPresent(median -> node.put("fio_" + direction + "_mib_s", median));
    rates.ratio().ifPresent(ratio -> node.put(direction + "_ratio", ratio));
    ArrayNode store = node.putArray(direction + "_rounds_mib_s");
    for (double round : rates.store()) {
      store.add(round);
    }
    ArrayNode fio = node.putArray("fio_" + direction + "_rounds_mib_s");
    for (double round : rates.fio()) {
      fio.add(round);
    }
  }
}
