package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.core.EmbeddedCache.Builder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Option;

/** The options of a cache, shared by the commands that open one. */
class CacheOptions {

  @Option(names = "--dram", required = true, paramLabel = "SIZE", description = "Memory for blocks, as 512MiB.")
  private ByteSize dram;

  @Option(names = "--ssd", paramLabel = "DIR:SIZE",
      description = "An SSD tier: its folder, and the most bytes of disk that it uses.")
  private SsdTier ssd;

  @Option(names = "--policy", paramLabel = "NAME",
      description = "Which blocks leave memory first. Default: " + Builder.DEFAULT_POLICY + ".")
  private String policy;

  @Option(names = "--memory", paramLabel = "NAME",
      description = "Provider of the memory. Default: " + Builder.DEFAULT_MEMORY + ".")
  private String memory;

  @Option(names = "--storage", paramLabel = "NAME",
      description = "Backend of the SSD tier. Default: " + Builder.DEFAULT_STORAGE + ".")
  private String storage;

  @Option(names = "--storage-setting", paramLabel = "KEY=VALUE",
      description = "A setting of the storage backend, as segment-bytes=256MiB; may be given again.")
  private Map<String, String> storageSettings = new LinkedHashMap<>();

  CacheSettings settings(ByteSize block, long seed) {
    return new CacheSettings(
        dram,
        block,
        Optional.ofNullable(ssd),
        Optional.ofNullable(memory),
        Optional.ofNullable(storage),
        storageSettings,
        Optional.ofNullable(policy),
        seed);
  }
}
