package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.cli.bench.RecoveryBench;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import io.orbitkv.core.EmbeddedCache.Builder;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;

/** {@code orbitkv bench recovery}. */
@Command(
    name = "recovery",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Times the start of a cache over a store of many small extents, and reads some of them back.",
      "",
      "Blocks have 4KiB, and as much again for their header: a million take about 10 GiB of disk.",
      ""
    })
final class BenchRecoveryCommand implements Callable<Integer> {

  private final Terminal terminal;
  private final BiFunction<CacheSettings, Backends, CacheOpener> caches;

  @Option(names = "--dir", required = true, paramLabel = "DIR",
      description = "A folder on the disk to measure. A folder of its own is made in it, and removed.")
  private Path directory;

  @Option(names = "--extents", paramLabel = "N", defaultValue = "1000000",
      description = "Extents in the store. Default: ${DEFAULT-VALUE}.")
  private int extents;

  @Option(names = "--storage", paramLabel = "NAME",
      description = "Backend of the SSD tier. Default: " + Builder.DEFAULT_STORAGE + ".")
  private String storage;

  @Mixin
  private PluginOptions plugins;

  @Mixin
  private JsonOption json;

  BenchRecoveryCommand(Terminal terminal, BiFunction<CacheSettings, Backends, CacheOpener> caches) {
    this.terminal = terminal;
    this.caches = caches;
  }

  @Override
  public Integer call() throws InterruptedException {
    json.check();
    RecoveryBench bench = new RecoveryBench(extents);
    RecoveryBench.Result result;
    try (ScratchFolder folder = ScratchFolder.in(directory); Progress progress = terminal.progress("write", extents)) {
      CacheSettings settings = new CacheSettings(new ByteSize(RecoveryBench.memoryBytes()),
          new ByteSize(2L * RecoveryBench.BLOCK_BYTES),
          Optional.of(new SsdTier(folder.path().resolve("ssd"), new ByteSize(bench.storeBytes()))), Optional.empty(),
          Optional.ofNullable(storage), Map.of(), Optional.empty(), 1);
      result = bench.run(caches.apply(settings, plugins.backends()), progress);
    }
    terminal.out().printf(Locale.ROOT,
        "%,d extents written in %.1f s. A cache over them had its memory and served in %.2f s, %.2f s of it for what is stored%n"
            + "(%,d segments by their summary, %,d scanned). It found %,d; %s read back were right.%n",
        result.extents(), result.fillSeconds(), result.openSeconds(), result.report().nanos() / 1e9,
        result.report().segmentsSealed(), result.report().segmentsScanned(), result.blocksFound(),
        new ByteSize(result.bytesCompared()));
    json.write(new JsonMapper().createObjectNode()
        .put("extents", result.extents())
        .put("blocks_found", result.blocksFound())
        .put("fill_seconds", result.fillSeconds())
        .put("open_seconds", result.openSeconds())
        .put("store_seconds", result.report().nanos() / 1e9)
        .put("segments_sealed", result.report().segmentsSealed())
        .put("segments_scanned", result.report().segmentsScanned())
        .put("bytes_compared", result.bytesCompared()));
    return ExitCode.OK;
  }
}
