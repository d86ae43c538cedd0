package io.orbitkv.adapter.vllm.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Matched;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Standing;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.Backends;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.ManagerLink;
import io.orbitkv.core.agent.SchedulerEndpoint;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.manager.Manager;
import io.orbitkv.core.wire.Protocol;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The adapter as an agent opens it, with a Manager, a connector over a socket, and a worker of one rank. */
@Timeout(180)
class VllmEndpointTest {

  private static final int BLOCK_TOKENS = 32;
  private static final int SHARD_BYTES = 4096;
  private static final long INCARNATION = 7;
  /** However slow the disk: what is not read by then is computed. */
  private static final int DEFER_MILLIS = 60_000;

  @TempDir
  private Path folder;

  private Path runtime;
  private Manager manager;
  private ManagerLink link;
  private SchedulerEndpoint endpoint;
  private ManagerClient worker;
  private Session rank;
  private Digest namespace;

  @BeforeEach
  void start() throws IOException {
    // Blocks are shared in memory only: a folder of the test's own in /dev/shm.
    runtime = Files.createTempDirectory(Path.of("/dev/shm"), "orbitkv-test");
    manager = openManager();
    link = new ManagerLink(manager.socket());
    endpoint = Backends.installed().adapter("vllm")
        .open(new AdapterOptions(folder.resolve("run/scheduler.sock"), link, folder.resolve("state")));
    try (FakeConnector connector = FakeConnector.greeted(endpoint.socket())) {
      namespace = connector.namespace(FakeConnector.identify(Digest.ZERO));
    }
  }

  private Manager openManager() {
    return Manager.builder().runtimeDirectory(runtime).dram(ByteSize.parse("16MiB")).open();
  }

  @AfterEach
  void stop() throws IOException {
    if (worker != null) {
      rank.close();
      worker.close();
    }
    endpoint.close();
    link.close();
    manager.close();
    try (Stream<Path> files = Files.walk(runtime)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private SchedulerRequest.Attach attach() {
    return new SchedulerRequest.Attach(
        "engine", INCARNATION, namespace, 1, SHARD_BYTES, BLOCK_TOKENS, DEFER_MILLIS, true, true);
  }

  /** The one worker of the instance, as its agent attaches it. */
  private void startWorker() {
    worker = ManagerClient.open(manager.socket());
    rank = worker.attach(new SessionSpec("engine", new Namespace(namespace), new ShardLayout(1, SHARD_BYTES),
        BLOCK_TOKENS), new Membership(INCARNATION, 0));
  }

  /** The worker finds a new Manager by itself, and not when the scheduler does. */
  private void awaitWorker(PrefixChain unknown) {
    boolean found = false;
    while (!found) {
      try (SaveGrant grant = rank.reserve(0, unknown, 0, 1)) {
        found = grant.wants(0);
      }
    }
  }

  private FakeConnector connect() throws IOException {
    FakeConnector connector = FakeConnector.greeted(endpoint.socket());
    connector.attach(attach());
    return connector;
  }

  private static PrefixChain chain(int seed, int blocks) {
    return PrefixChain.ofTokens(IntStream.range(seed * 1000, seed * 1000 + blocks).toArray(), 1);
  }

  /** Does what a worker's agent does for a save that states its whole chain. Returns how many blocks it committed. */
  private int save(SchedulerReply.Save save) {
    assertThat(save.known()).isZero();
    int end = save.firstBlock() + save.pages().length;
    try (SaveGrant grant = rank.reserve(0, save.hashes(), save.firstBlock(), end)) {
      for (int block = save.firstBlock(); block < end; block++) {
        byte[] bytes = new byte[SHARD_BYTES];
        ByteBuffer.wrap(bytes).putInt(save.pages()[block - save.firstBlock()]);
        grant.shard(block).copyFrom(MemorySegment.ofArray(bytes));
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        grant.copied(block, (int) crc.getValue());
      }
      return grant.commit();
    }
  }

  private void store(FakeConnector connector, PrefixChain chain, int... pages) throws IOException {
    SchedulerReply.Plan plan = connector.advance("writer", pages.length * BLOCK_TOKENS, chain, pages);
    assertThat(plan.saves()).hasSize(1);
    int committed = save(plan.saves().getFirst());
    SchedulerReply.Plan next = connector.saveEnded(plan.saves().getFirst().save(), committed);
    assertThat(next.stored()).containsExactly(plan.saves().getFirst().save());
    assertThat(connector.finish("writer").endedSeries()).containsExactly(plan.saves().getFirst().series());
  }

  private void assertNothingLeased() {
    // The cache's thread gives leases up, after the answer.
    while (manager.status().cache().leasedBytes() != 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void blocksThatLeaveTheManager_areToldByTheirHashes_alsoAfterAReset() throws IOException {
    startWorker();
    try (FakeConnector connector = connect()) {
      PrefixChain chain = chain(1, 2);
      // The first step asks from when on it is to be told, and a lookup is answered after that.
      connector.finish("nobody");
      connector.lookup("reader", 0, 100, chain(2, 1));
      store(connector, chain, 10, 11);
      manager.evict(ByteSize.parse("16MiB"));
      assertThat(news(connector)).returns(false, SchedulerReply.Plan::cleared)
          .returns(PrefixChain.of(List.of(chain.hash(1), chain.hash(0))), SchedulerReply.Plan::departed);
      connector.call(new SchedulerRequest.Reset());
      store(connector, chain, 10, 11);
      manager.evict(ByteSize.parse("16MiB"));
      assertThat(news(connector).departed()).isEqualTo(PrefixChain.of(List.of(chain.hash(1), chain.hash(0))));
      manager.close();
      manager = openManager();
      assertThat(news(connector)).as("of another Manager").returns(true, SchedulerReply.Plan::cleared)
          .returns(PrefixChain.of(List.of()), SchedulerReply.Plan::departed);
    }
  }

  /** Waits until there is something to tell of blocks that have left. */
  private static SchedulerReply.Plan news(FakeConnector connector) throws IOException {
    SchedulerReply.Plan plan = connector.finish("nobody");
    while (!plan.cleared() && plan.departed().blocks() == 0) {
      plan = connector.finish("nobody");
    }
    return plan;
  }

  @Test
  void whatOneRequestSaved_anotherLoads() throws IOException {
    startWorker();
    try (FakeConnector connector = connect()) {
      PrefixChain chain = chain(1, 4);
      store(connector, chain, 10, 11, 12, 13);

      assertThat(connector.lookup("reader", 32, 130, chain)).isEqualTo(new Matched(Standing.HIT, 96));
      SchedulerReply.Plan plan = connector.allocate("reader", 96, 20, 21, 22, 23, 24);
      assertThat(plan.saves()).isEmpty();
      SchedulerReply.Load load = plan.loads().getFirst();
      assertThat(load.firstBlock()).isEqualTo(1);
      assertThat(load.pages()).containsExactly(21, 22, 23);
      try (RestoreGrant grant = rank.restore(load.lease(), 0)) {
        assertThat(IntStream.range(0, grant.blocks())
            .map(block -> Integer.reverseBytes(grant.shard(block).get(ValueLayout.JAVA_INT, 0)))).containsExactly(
                10, 11, 12, 13);
      }
      connector.loadEnded("reader", true);
      assertThat(connector.advance("reader", 128, chain, 20, 21, 22, 23).saves()).as("what was loaded is stored")
          .isEmpty();
      connector.finish("reader");
      assertThat(connector.counter("loaded_bytes")).isEqualTo(3 * SHARD_BYTES);
    }
    assertNothingLeased();
  }

  @Test
  void leaseThatNoWorkerTakes_isGivenUpWithTheConnection() throws IOException {
    startWorker();
    try (FakeConnector connector = connect()) {
      PrefixChain chain = chain(1, 4);
      store(connector, chain, 10, 11, 12, 13);
      connector.lookup("held", 0, 130, chain);
      connector.lookup("loading", 0, 130, chain);
      connector.allocate("loading", 128, 20, 21, 22, 23, 24);
      assertThat(manager.status().cache().leasedBytes()).isPositive();
    }
    assertNothingLeased();
  }

  @Test
  void schedulerThatConnectsAgain_takesOverAndLeavesTheWorkersRegistered() throws IOException {
    startWorker();
    PrefixChain chain = chain(1, 2);
    try (FakeConnector first = connect()) {
      store(first, chain, 10, 11);
      try (FakeConnector second = connect()) {
        assertThat(second.lookup("reader", 0, 100, chain)).isEqualTo(new Matched(Standing.HIT, 64));
        assertThatThrownBy(() -> first.call(new SchedulerRequest.Counters())).isInstanceOf(IOException.class);
        SchedulerReply.Load load = second.allocate("reader", 64, 20, 21, 22).loads().getFirst();
        try (RestoreGrant grant = rank.restore(load.lease(), 0)) {
          assertThat(grant.blocks()).isEqualTo(2);
        }
      }
    }
  }

  @Test
  void afterAReset_nothingIsFoundUntilItIsSavedAnew() throws IOException {
    startWorker();
    PrefixChain chain = chain(1, 2);
    try (FakeConnector connector = connect()) {
      store(connector, chain, 10, 11);
      assertThat(connector.call(new SchedulerRequest.Reset())).isEqualTo(new SchedulerReply.ResetDone(true));
      assertThat(connector.lookup("reader", 0, 100, chain).standing()).isEqualTo(Standing.NONE);
      store(connector, chain, 20, 21);
      assertThat(connector.lookup("later", 0, 100, chain)).isEqualTo(new Matched(Standing.HIT, 64));
    }
    try (FakeConnector restarted = connect()) {
      assertThat(restarted.lookup("reader", 0, 100, chain)).isEqualTo(new Matched(Standing.HIT, 64));
    }
  }

  @Test
  void whatIsOnTheSsdOnly_isReadWhileTheRequestIsDeferred() throws Exception {
    manager.close();
    manager = Manager.builder().runtimeDirectory(runtime).dram(ByteSize.parse("16MiB"))
        .ssd(folder.resolve("ssd"), ByteSize.parse("64MiB")).storage("file").open();
    startWorker();
    PrefixChain chain = chain(1, 4);
    try (FakeConnector connector = connect()) {
      store(connector, chain, 10, 11, 12, 13);
      assertThat(manager.flush(FakeConnector.LIMIT)).isTrue();
      while (manager.status().cache().blocksDram() > 0) {
        manager.evict(ByteSize.parse("16MiB"));
      }
      assertThat(connector.lookup("reader", 0, 130, chain)).isEqualTo(new Matched(Standing.HIT, 128));
      SchedulerReply.Load load = connector.allocate("reader", 128, 20, 21, 22, 23, 24).loads().getFirst();
      try (RestoreGrant grant = rank.restore(load.lease(), 0)) {
        assertThat(Integer.reverseBytes(grant.shard(3).get(ValueLayout.JAVA_INT, 0))).isEqualTo(13);
      }
      assertThat(manager.status().cache().blocksHitSsd()).isEqualTo(4);
    }
  }

  @Test
  void managerThatHangs_holdsUpNoLookup() throws IOException {
    startWorker();
    try (FakeConnector connector = connect()) {
      rank.close();
      worker.close();
      worker = null;
      manager.close();
      try (ServerSocketChannel hanging = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        // It takes connections, and says nothing.
        hanging.bind(UnixDomainSocketAddress.of(manager.socket()));
        for (int i = 0; i < 100; i++) {
          String request = "r" + i;
          assertThat(connector.call(new SchedulerRequest.Lookup(request, 0, 100, 0, chain(i, 2)),
              SchedulerReply.Matched.class).standing()).isIn(Standing.NONE, Standing.DEFER);
        }
        assertThat(connector.finish("r0").loads()).isEmpty();
      } finally {
        Files.delete(manager.socket());
      }
    }
  }

  @Test
  void requestsBeforeAllRanksAreThere_areComputed() throws IOException {
    try (FakeConnector connector = connect()) {
      assertThat(connector.lookup("early", 0, 100, chain(1, 2)).standing()).isEqualTo(Standing.NONE);
      assertThat(connector.counter("missed_busy")).isEqualTo(1);
    }
  }

  @Test
  void managerThatIsGone_isAMissAtOnceAndFoundAgain() throws IOException {
    startWorker();
    PrefixChain chain = chain(1, 2);
    try (FakeConnector connector = connect()) {
      store(connector, chain, 10, 11);
      manager.close();
      assertThat(connector.lookup("during", 0, 100, chain).standing()).isEqualTo(Standing.NONE);
      manager = openManager();
      int asked = 0;
      long misses = connector.counter("missed_not_stored");
      while (connector.counter("missed_not_stored") == misses) {
        // Finished, so that asking does not fill the table of requests before the Manager is found.
        String request = "after" + asked++;
        connector.lookup(request, 0, 100, chain);
        connector.finish(request);
      }
      awaitWorker(chain);
      store(connector, chain, 30, 31);
      assertThat(connector.lookup("reader", 0, 100, chain)).isEqualTo(new Matched(Standing.HIT, 64));
    }
  }

  @Test
  void managerThatComesLater_isFoundByAskingAgain() throws IOException {
    manager.close();
    try (FakeConnector connector = FakeConnector.greeted(endpoint.socket())) {
      assertThat(connector.call(attach())).isEqualTo(new SchedulerReply.Attached(false));
      assertThat(connector.lookup("early", 0, 100, chain(1, 2)).standing()).isEqualTo(Standing.NONE);
      manager = openManager();
      connector.attach(attach());
      startWorker();
      store(connector, chain(1, 2), 10, 11);
    }
  }

  @Test
  void instanceThatCannotBeServed_isRefusedInWords() throws IOException {
    startWorker();
    try (FakeConnector connector = FakeConnector.greeted(endpoint.socket())) {
      SchedulerRequest.Attach other =
          new SchedulerRequest.Attach("engine", INCARNATION, namespace, 1, 2 * SHARD_BYTES, BLOCK_TOKENS, 0, true, false);
      SchedulerReply reply;
      do {
        reply = connector.call(other);
      } while (reply.equals(new SchedulerReply.Attached(false)));
      assertThat(reply).isInstanceOfSatisfying(
          SchedulerReply.Refused.class, refused -> assertThat(refused.message()).contains("engine"));
      assertThat(connector.lookup("any", 0, 100, chain(1, 2)).standing()).isEqualTo(Standing.NONE);
    }
  }

  @Test
  void otherReleases_areRefusedWithBothSides() throws IOException {
    try (FakeConnector connector = new FakeConnector(endpoint.socket())) {
      assertThat(connector.refusal(FakeConnector.hello("0.30.0"))).contains("vLLM is 0.30.0", "0.31.0");
      assertThat(connector.refusal(FakeConnector.hello("0.31.01"))).contains("0.31.01");
      assertThat(connector.refusal(new SchedulerRequest.Hello(2, "connector 9", "0.31.0", Protocol.probe())))
          .contains("connector 9 speaks version 2");
      assertThat(connector.refusal(new SchedulerRequest.Hello(1, "connector 9", "0.31.0", Digest.ZERO)))
          .contains("connector 9", Digest.ZERO.toString());
      connector.call(FakeConnector.hello("0.31.0+cpu"), SchedulerReply.Welcome.class);
    }
  }

  @Test
  void requestsOutOfOrder_areRefused() throws IOException {
    try (FakeConnector connector = new FakeConnector(endpoint.socket())) {
      assertThat(connector.refusal(FakeConnector.identify(Digest.ZERO))).contains("Identify", "after Hello");
      assertThat(connector.refusal(attach())).contains("Attach", "after Hello");
      connector.call(FakeConnector.hello("0.31.0"), SchedulerReply.Welcome.class);
      assertThat(connector.refusal(FakeConnector.hello("0.31.0"))).contains("Hello");
      assertThat(connector.refusal(new SchedulerRequest.Reset())).contains("Reset", "after Attach");
      connector.attach(attach());
      SchedulerRequest.Attach other =
          new SchedulerRequest.Attach("other", INCARNATION, namespace, 1, SHARD_BYTES, BLOCK_TOKENS, 0, true, false);
      assertThat(connector.refusal(other)).contains("'other'");
    }
  }

  @Test
  void workers_areToldTheNamespaceToo() throws IOException {
    try (FakeConnector connector = connect(); FakeConnector ofWorker = FakeConnector.greeted(endpoint.socket())) {
      assertThat(ofWorker.namespace(FakeConnector.identify(Digest.ZERO))).isEqualTo(namespace);
      assertThat(connector.counter("requests")).isZero();
    }
  }

  @Test
  void bytesThatAreNoMessage_endThatConnectionOnly() throws IOException {
    try (FakeConnector connector = connect();
        SocketChannel raw =
            SocketChannel.open(UnixDomainSocketAddress.of(endpoint.socket()))) {
      raw.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 1, 5}));
      assertThat(raw.read(ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(connector.counter("requests")).isZero();
    }
  }

  @Test
  void closedEndpoint_leavesNothingAndTakesNoMore() throws IOException {
    startWorker();
    try (FakeConnector connector = connect()) {
      PrefixChain chain = chain(1, 2);
      store(connector, chain, 10, 11);
      connector.lookup("held", 0, 100, chain);
      endpoint.close();
      endpoint.close();
      assertNothingLeased();
      assertThatThrownBy(() -> connector.call(new SchedulerRequest.Counters())).isInstanceOf(IOException.class);
      assertThat(endpoint.socket()).doesNotExist();
    }
  }

  @Test
  void socketOfAnotherAdapter_isNotTaken() {
    AdapterOptions same = new AdapterOptions(endpoint.socket(), link, folder.resolve("state"));
    assertThatThrownBy(() -> Backends.installed().adapter("vllm").open(same))
        .isInstanceOf(UnavailableException.class);
  }

  @Test
  void lookupThatMakesNoSense_isRefusedAndTheConnectionGoesOn() throws IOException {
    try (FakeConnector connector = connect()) {
      for (List<Integer> tokens : List.of(List.of(-1, 10), List.of(0, -1), List.of(33, 100))) {
        assertThat(connector.refusal(
            new SchedulerRequest.Lookup("odd", tokens.get(0), tokens.get(1), 0, chain(1, 2)))).contains("'odd'");
      }
      assertThat(connector.counter("requests")).isZero();
    }
  }
}
