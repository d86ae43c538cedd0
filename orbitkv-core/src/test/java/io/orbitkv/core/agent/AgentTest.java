package io.orbitkv.core.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Cache;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.core.EmbeddedCache;
import io.orbitkv.core.wire.OtherUser;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Software;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class AgentTest {

  private static final Duration SHORT = Duration.ofMillis(100);

  @TempDir
  private Path folder;

  private final HeldDevice device = new HeldDevice();
  private final PrefixChain chain = FakeEngine.chain(1, 4);
  private Cache cache;
  private Agent agent;

  @BeforeEach
  void start() {
    cache = EmbeddedCache.builder().dram(ByteSize.parse("4MiB")).expectedBlock(ByteSize.parse("4KiB")).open();
    agent = start(CacheLink.embedded(cache));
  }

  private Agent start(CacheLink link) {
    return Agent.start(new AgentOptions(folder.resolve("run").resolve("agent.sock"), device, link));
  }

  @AfterEach
  void stop() {
    device.release();
    agent.close();
    cache.close();
    device.close();
  }

  /** Nothing is held by anyone: what ended was ended in order. */
  private void assertNothingHeld() {
    assertThat(cache.stats().leasedBytes()).isZero();
    assertThat(cache.stats().quarantinedBytes()).isZero();
  }

  @Test
  void whatWasSaved_isLoadedByteForByte() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 3, 1, 9, 0);
      long lease = engine.lease(0, FakeEngine.chain(1, 4));
      AgentReply.Started load = engine.load(lease, 0, 10, 11, 15, 12);
      assertThat(load.blocks()).isEqualTo(4);
      assertThat(engine.report(load)).isEqualTo(4);
      engine.verify(5, 10, 11, 15, 12);
      engine.call(new AgentRequest.Release(lease), AgentReply.Done.class);
      engine.call(new AgentRequest.Close(), AgentReply.Done.class);
    }
    assertNothingHeld();
  }

  @Test
  void anotherConnectionOfTheSameNamespace_findsWhatOneSaved() throws IOException {
    try (FakeEngine first = FakeEngine.open(agent, folder)) {
      first.store(chain, 5, 0, 1, 2, 3);
    }
    try (FakeEngine second = FakeEngine.open(agent, folder)) {
      AgentReply.Started load = second.load(second.lease(0, chain), 1, 7, 8, 9);
      assertThat(second.report(load)).isEqualTo(3);
      second.compute(5, 0, 1, 2, 3);
      byte[][] expected = {second.bytes(1), second.bytes(2), second.bytes(3)};
      assertThat(new byte[][] {second.bytes(7), second.bytes(8), second.bytes(9)}).isDeepEqualTo(expected);
    }
  }

  @Test
  void storedBlocks_areCountedAndNotCopiedAgain() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      assertThat(engine.save(chain, 0, 0, 1, 2, 3)).isEqualTo(new AgentReply.Started(0, 4));
      assertThat(engine.save(chain, 1, 1, 2)).isEqualTo(new AgentReply.Started(0, 2));
      assertThat(engine.save(FakeEngine.chain(1, 6), 2, 2, 3, 4, 5).blocks()).isEqualTo(2);
    }
  }

  @Test
  void aLoadOfMoreBlocksThanTheLeaseHas_reportsWhichArrived() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      AgentReply.Started load = engine.load(engine.lease(0, FakeEngine.chain(1, 6)), 2, 10, 11, 12);
      assertThat(load.blocks()).isEqualTo(2);
      assertThat(engine.report(load)).isEqualTo(2);
      AgentReply.Started behind = engine.load(engine.lease(1, chain), 9, 10);
      assertThat(engine.report(behind)).isZero();
    }
    agent.close();
    assertNothingHeld();
  }

  @Test
  void aWrongPage_refusesTheWholeRequestAndTakesNothing() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      long lease = engine.lease(0, chain);
      assertThat(engine.refusal(new AgentRequest.Load(lease, 0, new int[] {4, 16}, 0))).contains("page 16 of block 1");
      assertThat(engine.refusal(new AgentRequest.Load(lease, 0, new int[] {4, -1}, 0))).contains("page -1");
      assertThat(engine.refusal(new AgentRequest.Load(lease, 0, new int[] {4, 4}, 0))).contains("target of two blocks");
      assertThat(engine.refusal(new AgentRequest.Load(lease, -1, new int[] {4}, 0))).contains("block -1");
      PrefixChain other = FakeEngine.chain(2, 2);
      assertThat(engine.refusal(new AgentRequest.Save(0, 0, other, 0, new int[] {4, 16}))).contains("page 16");
      assertThat(engine.refusal(new AgentRequest.Save(0, 0, other, 1, new int[] {4, 5}))).contains("2 blocks from 1");
      // The share of the lease and the room for the blocks are still there.
      assertThat(engine.report(engine.load(lease, 0, 4))).isEqualTo(1);
      assertThat(engine.report(engine.save(other, 0, 4, 5))).isEqualTo(2);
    }
  }

  @Test
  void savesOfASeries_stateTheirNewHashesOnly() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.compute(5, 0, 1, 2, 3);
      assertThat(engine.report(engine.save(7, 0, FakeEngine.part(1, 0, 2), 0, 0, 1))).isEqualTo(2);
      assertThat(engine.report(engine.save(7, 2, FakeEngine.part(1, 2, 4), 2, 2, 3))).isEqualTo(2);
      assertThat(engine.report(engine.load(engine.lease(0, chain), 0, 10, 11, 12, 13))).isEqualTo(4);
      engine.verify(5, 10, 11, 12, 13);
    }
  }

  @Test
  void aSeriesThatIsNotKnownSoFar_isRefusedUntilItIsBegunAnew() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      AgentRequest.Save third = new AgentRequest.Save(7, 2, FakeEngine.part(1, 2, 3), 2, new int[] {2});
      AgentReply.Refused refused = engine.call(third, AgentReply.Refused.class);
      assertThat(refused.refusal()).isEqualTo(Reply.Refusal.CLOSED);
      assertThat(refused.message()).contains("series 7 is known to block 0", "continues it from 2");
      engine.report(engine.save(7, 0, FakeEngine.part(1, 0, 2), 0, 0, 1));
      assertThat(engine.call(third, AgentReply.Started.class).blocks()).isEqualTo(1);
      engine.call(new AgentRequest.Forget(7), AgentReply.Done.class);
      assertThat(engine.refusal(third)).contains("series 7 is known to block 0");
    }
  }

  @Test
  void aRefusedSave_leavesItsSeriesAsItWas() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.report(engine.save(7, 0, FakeEngine.part(1, 0, 2), 0, 0, 1));
      assertThat(engine.refusal(new AgentRequest.Save(7, 1, FakeEngine.part(2, 1, 2), 1, new int[] {2, 3})))
          .contains("2 blocks from 1 of a chain of 2");
      assertThat(engine.save(7, 2, FakeEngine.part(1, 2, 3), 2, 2).blocks()).isEqualTo(1);
    }
  }

  @Test
  void aLeaseThatIsNotThere_isRefused() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      assertThat(engine.call(new AgentRequest.Load(99, 0, new int[] {1}, 0))).isInstanceOf(AgentReply.Refused.class);
      engine.store(chain, 5, 0, 1, 2, 3);
      long lease = engine.lease(0, chain);
      assertThat(engine.report(engine.load(lease, 0, 4))).isEqualTo(1);
      // Each rank has one share.
      assertThat(engine.call(new AgentRequest.Load(lease, 0, new int[] {1}, 0))).isInstanceOf(AgentReply.Refused.class);
    }
  }

  @Test
  void queries_areAnsweredPolledAndCancelled() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      AgentReply.Answered miss = engine.call(new AgentRequest.Query(0, 0, chain), AgentReply.Answered.class);
      assertThat(miss).isEqualTo(new AgentReply.Answered(Reply.Standing.MISS, 0, 0, 0, "NOT_STORED"));
      assertThat(engine.refusal(new AgentRequest.Poll(0, 0))).contains("query 0/0 is not under way");
      engine.call(new AgentRequest.CancelQuery(0, 0), AgentReply.Done.class);
      assertThat(engine.refusal(new AgentRequest.Query(-1, 0, chain))).contains("negative");
      engine.store(chain, 5, 0, 1, 2, 3);
      AgentReply.Answered hit =
          engine.call(new AgentRequest.Query(1, 0, FakeEngine.chain(1, 6)), AgentReply.Answered.class);
      assertThat(hit).isEqualTo(new AgentReply.Answered(Reply.Standing.HIT, hit.lease(), 4, 0, "NOT_STORED"));
      engine.call(new AgentRequest.Release(hit.lease()), AgentReply.Done.class);
      assertNothingHeld();
    }
  }

  @Test
  void layersArrive_andTheEngineMayWaitForThem() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      device.hold();
      AgentReply.Started load = engine.load(engine.lease(0, chain), 0, 4, 5, 6, 7);
      AgentRequest.LayerReady atOnce = new AgentRequest.LayerReady(load.transfer(), 4, 0);
      assertThat(engine.call(atOnce)).isEqualTo(new AgentReply.Layer(AgentReply.LayerStanding.COPYING));
      device.release();
      AgentReply standing;
      do {
        standing = engine.call(new AgentRequest.LayerReady(load.transfer(), 4, 1000));
      } while (standing.equals(new AgentReply.Layer(AgentReply.LayerStanding.COPYING)));
      assertThat(standing).isEqualTo(new AgentReply.Layer(AgentReply.LayerStanding.READY));
      assertThat(engine.refusal(new AgentRequest.LayerReady(load.transfer(), 5, 0))).contains("layer 5");
      assertThat(engine.refusal(new AgentRequest.LayerReady(load.transfer(), 0, 1001))).contains("1001 ms");
      engine.report(load);
      assertThat(engine.refusal(atOnce)).contains("was reported");
    }
  }

  @Test
  void copiesThatFail_areReportedAndNotKept() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      device.fail();
      device.hold();
      AgentReply.Started load = engine.load(engine.lease(0, chain), 0, 4, 5);
      device.release();
      AgentReply layer = engine.call(new AgentRequest.LayerReady(load.transfer(), 0, 1000));
      assertThat(layer).isEqualTo(new AgentReply.Layer(AgentReply.LayerStanding.FAILED));
      assertThat(engine.report(load)).isZero();
      PrefixChain other = FakeEngine.chain(2, 2);
      assertThat(engine.report(engine.save(other, 0, 4, 5))).isZero();
      assertThat(engine.call(new AgentRequest.Query(9, 0, other), AgentReply.Answered.class).standing())
          .isEqualTo(Reply.Standing.MISS);
    }
  }

  @Test
  void aCancelledSave_isDrainedReportedAndNotKept() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      device.hold();
      AgentReply.Started save = engine.save(chain, 0, 0, 1, 2, 3);
      engine.call(new AgentRequest.Cancel(save.transfer()), AgentReply.Done.class);
      assertThat(engine.call(new AgentRequest.Progress(0), AgentReply.Finished.class).transfers()).isEmpty();
      device.release();
      assertThat(engine.report(save)).isZero();
      engine.call(new AgentRequest.Cancel(save.transfer()), AgentReply.Done.class);
      assertThat(cache.stats().blocksDram()).isZero();
    }
  }

  @Test
  void transfersBeyondTheBound_areRefusedUntilSomeAreReported() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      for (int i = 0; i < AgentProtocol.MAX_TRANSFERS; i++) {
        assertThat(engine.save(FakeEngine.chain(i, 1), 0, 0).blocks()).as("save " + i).isEqualTo(1);
      }
      AgentRequest.Save more = new AgentRequest.Save(0, 0, FakeEngine.chain(5000, 1), 0, new int[] {0});
      assertThat(engine.call(more, AgentReply.Refused.class).refusal()).isEqualTo(Reply.Refusal.UNAVAILABLE);
      assertThat(engine.call(new AgentRequest.Progress(1000), AgentReply.Finished.class).transfers()).isNotEmpty();
      engine.call(more, AgentReply.Started.class);
    }
  }

  /** How far an engine had come when its connection broke. */
  enum Step {
    CONNECTED,
    GREETED,
    OPEN,
    LEASED,
    LOADING,
    SAVING,
    CANCELLED
  }

  @ParameterizedTest
  @EnumSource
  void anEngineThatBreaksOff_leavesNothingHeld(Step step) throws Exception {
    try (FakeEngine earlier = FakeEngine.open(agent, folder)) {
      earlier.store(chain, 5, 0, 1, 2, 3);
    }
    device.hold();
    PrefixChain saved = FakeEngine.chain(2, 3);
    FakeEngine engine = FakeEngine.connect(agent, folder);
    if (step.compareTo(Step.GREETED) >= 0) {
      engine.hello();
    }
    if (step.compareTo(Step.OPEN) >= 0) {
      engine.call(engine.opening(0, 1), AgentReply.Opened.class);
    }
    if (step.compareTo(Step.LEASED) >= 0) {
      engine.lease(0, chain);
    }
    if (step.compareTo(Step.LOADING) >= 0) {
      engine.load(engine.lease(1, chain), 0, 4, 5, 6, 7);
    }
    if (step.compareTo(Step.SAVING) >= 0) {
      AgentReply.Started save = engine.save(saved, 0, 8, 9, 10);
      if (step == Step.CANCELLED) {
        engine.call(new AgentRequest.Cancel(save.transfer()), AgentReply.Done.class);
      }
    }
    engine.close();

    FakeEngine next = FakeEngine.connect(agent, folder);
    CompletableFuture<AgentReply> welcome = CompletableFuture.supplyAsync(() -> {
      try {
        return next.hello();
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    });
    if (step.compareTo(Step.LOADING) >= 0) {
      assertThatThrownBy(() -> welcome.get(50, TimeUnit.MILLISECONDS))
          .as("copies of the earlier connection are under way").isInstanceOf(TimeoutException.class);
      assertThat(cache.stats().leasedBytes()).isPositive();
    }
    device.release();
    assertThat(welcome.get()).isInstanceOf(AgentReply.Welcome.class);
    assertNothingHeld();
    next.call(next.opening(0, 1), AgentReply.Opened.class);
    AgentReply.Answered answered = next.call(new AgentRequest.Query(0, 0, saved), AgentReply.Answered.class);
    // What was whole is kept; what nobody wanted is not.
    assertThat(answered.standing()).isEqualTo(step == Step.SAVING ? Reply.Standing.HIT : Reply.Standing.MISS);
    next.close();
  }

  @Test
  void closing_waitsForCopiesAndEndsTheirGrants() throws Exception {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      device.hold();
      engine.load(engine.lease(0, chain), 0, 4, 5);
      CompletableFuture<Void> closed = CompletableFuture.runAsync(agent::close);
      assertThatThrownBy(() -> closed.get(50, TimeUnit.MILLISECONDS))
          .isInstanceOf(TimeoutException.class);
      assertThat(cache.stats().leasedBytes()).isPositive();
      device.release();
      closed.get();
      assertNothingHeld();
      assertThat(agent.socket()).doesNotExist();
      agent.close();
    }
  }

  @Test
  void aCloseIsAnswered_whenEverythingIsDrained() throws IOException {
    FakeEngine engine = FakeEngine.open(agent, folder);
    device.hold();
    engine.save(chain, 0, 0, 1, 2, 3);
    assertThatThrownBy(() -> engine.call(new AgentRequest.Close(), SHORT)).isInstanceOf(SocketTimeoutException.class);
    device.release();
    try (FakeEngine next = FakeEngine.open(agent, folder)) {
      next.lease(0, chain);
      next.call(new AgentRequest.Close(), AgentReply.Done.class);
    }
    assertNothingHeld();
  }

  @Test
  void withoutACache_anEngineMissesAndIsNotDisturbed() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      long lease = engine.lease(0, chain);
      cache.close();
      AgentReply.Answered answered = engine.call(new AgentRequest.Query(1, 0, chain), AgentReply.Answered.class);
      assertThat(answered).isEqualTo(new AgentReply.Answered(Reply.Standing.MISS, 0, 0, 0, "UNAVAILABLE"));
      assertThat(engine.save(FakeEngine.chain(2, 1), 0, 0)).isEqualTo(new AgentReply.Started(0, 0));
      assertThat(engine.call(new AgentRequest.Load(lease, 0, new int[] {1}, 0))).isInstanceOf(AgentReply.Refused.class);
      engine.call(new AgentRequest.Release(lease), AgentReply.Done.class);
      engine.call(new AgentRequest.Close(), AgentReply.Done.class);
    }
  }

  @Test
  void aCacheThatIsGoneWhileACopyRuns_fails_noLoad() throws IOException {
    try (FakeEngine engine = FakeEngine.open(agent, folder)) {
      engine.store(chain, 5, 0, 1, 2, 3);
      device.hold();
      AgentReply.Started load = engine.load(engine.lease(0, chain), 0, 4, 5, 6, 7);
      AgentReply.Started save = engine.save(FakeEngine.chain(2, 1), 0, 8);
      cache.close();
      device.release();
      AgentReply.Finished finished;
      int loaded = -1;
      int saved = -1;
      while (loaded < 0 || saved < 0) {
        finished = engine.call(new AgentRequest.Progress(1000), AgentReply.Finished.class);
        for (int i = 0; i < finished.transfers().length; i++) {
          if (finished.loads()[i]) {
            assertThat(finished.transfers()[i]).isEqualTo(load.transfer());
            loaded = finished.blocks()[i];
          } else {
            assertThat(finished.transfers()[i]).isEqualTo(save.transfer());
            saved = finished.blocks()[i];
          }
        }
      }
      assertThat(loaded).isEqualTo(4);
      engine.verify(5, 4, 5, 6, 7);
    }
  }

  @Test
  void aCacheThatComesLater_isUsed() throws IOException {
    agent.close();
    AtomicBoolean there = new AtomicBoolean();
    agent = start((spec, membership) -> {
      if (!there.getAndSet(true)) {
        throw new UnavailableException("not yet");
      }
      return cache.attach(spec);
    });
    try (FakeEngine engine = FakeEngine.connect(agent, folder)) {
      engine.hello();
      assertThat(engine.call(engine.opening(0, 1))).isEqualTo(new AgentReply.Opened(false));
      assertThat(engine.save(chain, 0, 0, 1)).isEqualTo(new AgentReply.Started(0, 0));
      AgentReply.Started save;
      do {
        save = engine.save(chain, 0, 0, 1);
      } while (save.transfer() == 0);
      assertThat(engine.report(save)).isEqualTo(2);
    }
  }

  @Test
  void otherProtocolsAndHashes_areRefusedWithBothSides() throws IOException {
    try (FakeEngine engine = FakeEngine.connect(agent, folder)) {
      assertThat(engine.refusal(new AgentRequest.Hello(AgentProtocol.VERSION + 1, "engine 9", Protocol.probe())))
          .contains("engine 9 speaks version 3", Software.name() + " version 2");
      assertThat(engine.refusal(new AgentRequest.Hello(2, "engine 9", Digest.ZERO)))
          .contains("engine 9", Digest.ZERO.toString(), Protocol.probe().toString());
    }
  }

  @Test
  void requestsOutOfOrder_areRefused() throws IOException {
    try (FakeEngine engine = FakeEngine.connect(agent, folder)) {
      assertThat(engine.refusal(engine.opening(0, 1))).contains("Open came in state CONNECTED, expected GREETED");
      engine.hello();
      assertThat(engine.refusal(new AgentRequest.Progress(0))).contains("state GREETED, expected OPEN");
      engine.call(engine.opening(0, 1), AgentReply.Opened.class);
      assertThat(engine.refusal(engine.opening(0, 1))).contains("state OPEN");
    }
  }

  @Test
  void enginesThatStateTheImpossible_areRefusedAndMayTryAgain() throws IOException {
    try (FakeEngine engine = FakeEngine.connect(agent, folder)) {
      engine.hello();
      assertThat(engine.refusal(engine.opening(1, 1))).contains("rank 1 is not in 0 to 0");
      assertThat(engine.refusal(engine.opening(1, 2))).contains("2 ranks, and an embedded cache serves one");
      AgentRequest.Open open = engine.opening(0, 1);
      assertThat(engine.refusal(opening(open, open.layout(), "pool"))).contains("'pool' is not the absolute path");
      assertThat(engine.refusal(opening(open, open.layout(), folder + "/none"))).contains("/none cannot be mapped");
      PoolLayout larger = PoolLayout.of(new PageLayout(1, 1, 1 << 20, 1 << 20, 1 << 20));
      assertThat(engine.refusal(opening(open, larger, open.memory()))).contains("expected at least 1048576");
      assertThat(engine.call(open)).isEqualTo(new AgentReply.Opened(true));
    }
  }

  private static AgentRequest.Open opening(AgentRequest.Open open, PoolLayout layout, String memory) {
    return new AgentRequest.Open(open.instance(), open.incarnation(), open.namespace(), open.rank(), open.ranks(),
        open.whole(), open.blockTokens(), layout, memory);
  }

  @Test
  void bytesThatAreNoMessage_endTheirConnectionOnly() throws IOException {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(agent.socket()));
      channel.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 1, (byte) 0xc0}));
      assertThat(channel.read(ByteBuffer.allocate(1))).isEqualTo(-1);
    }
    FakeEngine.open(agent, folder).close();
  }

  @Test
  void anotherUser_isCutOff() throws IOException, InterruptedException {
    assertThat(OtherUser.connect(agent.socket(), folder)).isEmpty();
    FakeEngine.open(agent, folder).close();
  }

  @Test
  void whoeverIsSilentOrStopsInTheMiddle_keepsOthersWaitingNoLongerThanTheLimit() throws IOException {
    agent.close();
    Duration limit = Duration.ofSeconds(2);
    agent = Agent.start(new AgentOptions(agent.socket(), device, CacheLink.embedded(cache)), limit);
    try (SocketChannel silent = SocketChannel.open(UnixDomainSocketAddress.of(agent.socket()));
        SocketChannel half = SocketChannel.open(UnixDomainSocketAddress.of(agent.socket()));
        FakeEngine greeted = FakeEngine.connect(agent, folder);
        FakeEngine engine = FakeEngine.connect(agent, folder)) {
      half.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 9, (byte) 0x94}));
      // Served in the order in which they connected. What is said before its turn is not late on a busy machine.
      assertThat(greeted.hello()).isInstanceOf(AgentReply.Welcome.class);
      assertThat(silent.read(ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(half.read(ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(engine.hello()).isInstanceOf(AgentReply.Welcome.class);
      assertThat(engine.call(engine.opening(0, 1))).isInstanceOf(AgentReply.Opened.class);
      // Whoever is open may say nothing for as long as it likes: another one waits for it.
      try (FakeEngine next = FakeEngine.connect(agent, folder)) {
        assertThatThrownBy(() -> next.call(new AgentRequest.Close(), limit.multipliedBy(2)))
            .isInstanceOf(SocketTimeoutException.class);
        engine.store(chain, 5, 0, 1, 2, 3);
      }
    }
  }

  @Test
  void theSocket_isOfThisUserAlone() throws IOException {
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(agent.socket()))).isEqualTo("rw-------");
    Path parent = agent.socket().getParent();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(parent))).isEqualTo("rwx------");
    assertThatThrownBy(() -> start(CacheLink.embedded(cache)))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("another agent has the socket");
    agent.close();
    Files.setPosixFilePermissions(parent, PosixFilePermissions.fromString("rwxr-x---"));
    assertThatThrownBy(() -> start(CacheLink.embedded(cache)))
        .isInstanceOf(RefusedException.class).hasMessageContaining("rwxr-x---");
    Files.setPosixFilePermissions(parent, PosixFilePermissions.fromString("rwx------"));
    Files.writeString(agent.socket(), "");
    assertThatThrownBy(() -> start(CacheLink.embedded(cache)))
        .isInstanceOf(RefusedException.class).hasMessageContaining("is no socket");
  }

  @Test
  void theSocketOfADeadAgent_isReplaced() throws IOException {
    agent.close();
    try (ServerSocketChannel dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      dead.bind(UnixDomainSocketAddress.of(agent.socket()));
    }
    assertThat(agent.socket()).exists();
    agent = start(CacheLink.embedded(cache));
    FakeEngine.open(agent, folder).close();
  }
}
