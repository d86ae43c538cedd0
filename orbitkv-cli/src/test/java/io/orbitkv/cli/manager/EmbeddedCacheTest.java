package io.orbitkv.cli.manager;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.core.EmbeddedCache;
import java.nio.file.Path;

class EmbeddedCacheTest extends CacheContract {

  @Override
  Cache open(Path runtimeFolder, Path ssd) {
    return EmbeddedCache.builder().dram(new ByteSize(64 * 2 * SHARD)).storage("file").policy("lru")
        .ssd(ssd, ByteSize.parse("64MiB")).open();
  }
}
