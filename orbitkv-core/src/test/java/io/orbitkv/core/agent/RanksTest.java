package io.orbitkv.core.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Answer;
import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.manager.Manager;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two ranks of one instance, each with its agent, and the instance's scheduler, at one Manager. */
@Timeout(60)
class RanksTest {

  @TempDir
  private Path folder;

  private Path runtime;
  private Manager manager;
  private final HeldDevice device = new HeldDevice();
  private final PrefixChain chain = FakeEngine.chain(1, 3);
  private final SessionSpec spec = new SessionSpec(
      "fake", new Namespace(FakeEngine.NAMESPACE), new ShardLayout(2, FakeEngine.LAYOUT.shardBytes()), 16);

  @BeforeEach
  void start() throws IOException {
    // Blocks are shared in memory only: a folder of the test's own in /dev/shm.
    runtime = Files.createTempDirectory(Path.of("/dev/shm"), "orbitkv-test");
    manager = openManager();
  }

  private Manager openManager() {
    return Manager.builder().runtimeDirectory(runtime).dram(ByteSize.parse("16MiB"))
        .grantsLimit(Duration.ofMillis(100)).open();
  }

  @AfterEach
  void stop() throws IOException {
    device.release();
    manager.close();
    device.close();
    try (Stream<Path> files = Files.list(runtime)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(runtime);
  }

  private Agent agent(CacheLink link, int rank) {
    return Agent.start(new AgentOptions(folder.resolve("rank" + rank).resolve("agent.sock"), device, link));
  }

  private FakeEngine engine(Agent agent, int rank) throws IOException {
    FakeEngine engine = FakeEngine.connect(agent, folder);
    engine.hello();
    assertThat(engine.call(engine.opening(rank, 2))).isEqualTo(new AgentReply.Opened(true));
    return engine;
  }

  @Test
  void bothRanksSaveAndLoad_byTheLeaseOfTheirScheduler() throws Exception {
    try (ManagerLink link0 = new ManagerLink(manager.socket(), device);
        ManagerLink link1 = new ManagerLink(manager.socket(), device);
        Agent agent0 = agent(link0, 0); Agent agent1 = agent(link1, 1);
        FakeEngine rank0 = engine(agent0, 0); FakeEngine rank1 = engine(agent1, 1);
        ManagerClient client = ManagerClient.open(manager.socket());
        Session scheduler = client.attach(spec, new Membership(7, Membership.SCHEDULER))) {
      rank0.store(chain, 50, 0, 1, 2);
      assertThat(scheduler.query(chain).await(FakeEngine.LIMIT)).isInstanceOf(Answer.Miss.class);
      rank1.store(chain, 51, 5, 6, 7);
      assertThat(rank0.refusal(new AgentRequest.Query(0, 0, chain))).isNotEmpty();
      Answer.Hit hit = (Answer.Hit) scheduler.query(chain).await(FakeEngine.LIMIT);
      assertThat(hit.blocks()).isEqualTo(3);
      assertThat(rank0.report(rank0.load(hit.lease().id(), 0, 8, 9, 10))).isEqualTo(3);
      assertThat(rank1.report(rank1.load(hit.lease().id(), 0, 10, 9, 8))).isEqualTo(3);
      rank0.verify(50, 8, 9, 10);
      rank1.verify(51, 10, 9, 8);
      hit.lease().close();
      // An engine is told of a load before the Manager is.
      while (client.stats().leasedBytes() != 0) {
        Thread.onSpinWait();
      }
      rank0.call(new AgentRequest.Close(), AgentReply.Done.class);
    }
    assertThat(manager.status().quarantine()).isEmpty();
  }

  @Test
  void aManagerThatEndsWhileCopiesRun_costsNeitherLoadsNorTheEngine() throws Exception {
    try (ManagerLink link0 = new ManagerLink(manager.socket(), device);
        ManagerLink link1 = new ManagerLink(manager.socket(), device);
        Agent agent0 = agent(link0, 0); Agent agent1 = agent(link1, 1);
        FakeEngine rank0 = engine(agent0, 0); FakeEngine rank1 = engine(agent1, 1);
        ManagerClient client = ManagerClient.open(manager.socket());
        Session scheduler = client.attach(spec, new Membership(7, Membership.SCHEDULER))) {
      rank0.store(chain, 50, 0, 1, 2);
      rank1.store(chain, 51, 0, 1, 2);
      Answer.Hit hit = (Answer.Hit) scheduler.query(chain).await(FakeEngine.LIMIT);
      device.hold();
      AgentReply.Started load = rank0.load(hit.lease().id(), 0, 8, 9, 10);
      AgentReply.Started save = rank1.save(FakeEngine.chain(2, 2), 0, 3, 4);
      manager.close();
      manager = openManager();
      device.release();
      // What was pinned is read to its end from the mapping of the old Manager's memory.
      assertThat(rank0.report(load)).isEqualTo(3);
      rank0.verify(50, 8, 9, 10);
      assertThat(rank1.report(save)).isZero();
      // The new one has nothing in memory, and is used as soon as both ranks are registered again.
      AgentReply.Started again;
      do {
        again = rank0.save(chain, 0, 0, 1, 2);
      } while (again.transfer() == 0);
      assertThat(rank0.report(again)).isEqualTo(3);
    }
  }
}
