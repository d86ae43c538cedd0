package io.orbitkv.core.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.EmbeddedCache;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a worker sees of its agent, and of one that is gone. */
@Timeout(60)
class AgentClientTest {

  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final Duration SHORT = Duration.ofMillis(100);
  private static final int[] PAGES = {3, 1, 9, 0};

  @TempDir
  private Path folder;

  private final HeldDevice device = new HeldDevice();
  private final PrefixChain chain = FakeEngine.chain(1, 4);
  private Cache cache;
  private Agent agent;
  private AgentClient.Worker worker;

  @BeforeEach
  void start() throws IOException {
    cache = EmbeddedCache.builder().dram(ByteSize.parse("4MiB")).expectedBlock(ByteSize.parse("4KiB")).open();
    agent = Agent.start(options());
    Path pool = folder.resolve("pool");
    try (RandomAccessFile file = new RandomAccessFile(pool.toFile(), "rw")) {
      file.setLength(FakeEngine.LAYOUT.poolBytes());
    }
    worker = new AgentClient.Worker(
        "engine", 7, new Namespace(FakeEngine.NAMESPACE), 0, 1, true, 1, FakeEngine.LAYOUT, pool);
  }

  private AgentOptions options() {
    return new AgentOptions(folder.resolve("run").resolve("agent.sock"), device, CacheLink.embedded(cache));
  }

  @AfterEach
  void stop() {
    device.release();
    agent.close();
    cache.close();
    device.close();
  }

  private static AgentTransfer.Report report(AgentClient client) {
    List<AgentTransfer.Report> reports = new ArrayList<>();
    while (reports.isEmpty()) {
      reports.addAll(client.progress(LIMIT));
    }
    assertThat(reports).hasSize(1);
    return reports.getFirst();
  }

  @Test
  void whatWasSaved_isFoundAndLoaded() {
    try (AgentClient client = new AgentClient(agent.socket(), worker, LIMIT)) {
      assertThat(client.lookUp(chain, LIMIT)).isEmpty();
      AgentTransfer save = client.save(chain, 0, PAGES).orElseThrow();
      assertThat(client.hasAllPages()).isFalse();
      assertThat(report(client)).isEqualTo(new AgentTransfer.Report(save, 4));
      assertThat(client.hasAllPages()).isTrue();
      assertThat(client.save(chain, 0, PAGES)).as("stored already").isEmpty();

      AgentClient.Found found = client.lookUp(FakeEngine.chain(1, 6), LIMIT).orElseThrow();
      assertThat(found.blocks()).isEqualTo(4);
      AgentTransfer load = client.load(found.lease(), 0, PAGES).orElseThrow();
      client.release(found.lease());
      assertThat(report(client)).isEqualTo(new AgentTransfer.Report(load, 4));
      assertThat(client.load(found.lease(), 0, PAGES)).as("a share that was taken").isEmpty();
    }
    assertThat(cache.stats().leasedBytes()).isZero();
  }

  @Test
  void pagesOfABrokenConnection_comeBackWithTheNextWelcome() {
    AgentClient client = new AgentClient(agent.socket(), worker, SHORT);
    device.hold();
    // Under load it may take more than one try to be served within so short a limit.
    Optional<AgentTransfer> save = client.save(chain, 0, PAGES);
    while (save.isEmpty()) {
      save = client.save(chain, 0, PAGES);
    }
    client.close();
    assertThat(client.progress(SHORT)).as("copies are under way").isEmpty();
    assertThat(client.hasAllPages()).isFalse();
    device.release();
    assertThat(report(client)).isEqualTo(new AgentTransfer.Report(save.get(), 0));
    assertThat(client.hasAllPages()).isTrue();
    client.close();
  }

  @Test
  void withoutAnAgent_nothingIsFoundOrBegun() {
    AgentClient client = new AgentClient(agent.socket(), worker, LIMIT);
    assertThat(client.lookUp(chain, LIMIT)).isEmpty();
    agent.close();
    assertThat(client.lookUp(chain, LIMIT)).isEmpty();
    assertThat(client.save(chain, 0, PAGES)).isEmpty();
    assertThat(client.load(1, 0, PAGES)).isEmpty();
    assertThat(client.hasAllPages()).isTrue();

    agent = Agent.start(options());
    Optional<AgentTransfer> save = Optional.empty();
    while (save.isEmpty()) {
      save = client.save(chain, 0, PAGES);
    }
    assertThat(report(client).blocks()).isEqualTo(4);
    client.close();
  }

  @Test
  void whatTheAgentRefuses_isNoTransfer() {
    try (AgentClient client = new AgentClient(agent.socket(), worker, LIMIT)) {
      assertThat(client.save(chain, 0, new int[] {0, 1, 2, FakeEngine.PAGES})).isEmpty();
      assertThat(client.hasAllPages()).isTrue();
    }
  }
}
