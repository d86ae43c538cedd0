package io.orbitkv.cli.manager;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.manager.Manager;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;

class ManagerClientTest extends CacheContract {

  private Manager manager;

  @Override
  Cache open(Path runtimeFolder, Path ssd) {
    manager = Manager.builder().dram(new ByteSize(64 * 2 * SHARD)).storage("file").policy("lru")
        .ssd(ssd, ByteSize.parse("64MiB")).runtimeDirectory(runtimeFolder).grantsLimit(Duration.ZERO).open();
    return ManagerClient.open(manager.socket());
  }

  @AfterEach
  void closeManager() {
    manager.close();
  }
}
