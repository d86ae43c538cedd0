package io.orbitkv.adapter.sglang.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.sglang.protocol.LinkerProtocol;
import io.orbitkv.adapter.sglang.protocol.LinkerReply;
import io.orbitkv.adapter.sglang.protocol.LinkerReply.Matched;
import io.orbitkv.adapter.sglang.protocol.LinkerReply.Standing;
import io.orbitkv.adapter.sglang.protocol.LinkerRequest;
import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.Backends;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.ManagerLink;
import io.orbitkv.core.agent.SchedulerEndpoint;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.identity.EngineStatement.Fact;
import io.orbitkv.core.manager.Manager;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.UnixSocket;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The adapter as an agent opens it, with a Manager, and the linkers and workers of two ranks. */
@Timeout(180)
class SglangEndpointTest {

  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int RANKS = 2;
  private static final int SHARD_BYTES = 4096;
  private static final int BLOCK_TOKENS = 16;
  private static final long INCARNATION = 7;
  /** However busy the machine: what is not answered by then is nothing. */
  private static final int PENDING_MILLIS = 60_000;
  private static final Digest WINDOW_NAMESPACE = Digest.sha256(new byte[] {1});

  @TempDir
  private Path folder;

  private Path runtime;
  private Manager manager;
  private ManagerLink link;
  private SchedulerEndpoint endpoint;
  private final List<ManagerClient> clients = new ArrayList<>();
  private final List<Session> workers = new ArrayList<>();
  private final List<Session> windowWorkers = new ArrayList<>();
  private Digest namespace;

  @BeforeEach
  void start() throws IOException {
    // Blocks are shared in memory only: a folder of the test's own in /dev/shm.
    runtime = Files.createTempDirectory(Path.of("/dev/shm"), "orbitkv-test");
    manager = Manager.builder().runtimeDirectory(runtime).dram(ByteSize.parse("16MiB")).open();
    link = new ManagerLink(manager.socket());
    endpoint = Backends.installed().adapter("sglang")
        .open(new AdapterOptions(folder.resolve("run/scheduler.sock"), link, folder.resolve("state")));
    try (Dialogue<LinkerRequest, LinkerReply> linker = greeted()) {
      namespace = namespace(linker, identify("bfloat16"));
    }
  }

  @AfterEach
  void stop() throws IOException {
    workers.forEach(Session::close);
    windowWorkers.forEach(Session::close);
    clients.forEach(ManagerClient::close);
    endpoint.close();
    link.close();
    manager.close();
    try (Stream<Path> files = Files.walk(runtime)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private static LinkerRequest.Hello hello(String version) {
    return new LinkerRequest.Hello(LinkerProtocol.VERSION, "fake linker", version, Protocol.probe());
  }

  private static LinkerRequest.Identify identify(String dtype) {
    List<Fact> facts = Stream.of("model.dtype", "cache.dtype", "cache.block_tokens", "hash.algorithm", "hash.probe",
        "parallel.tensor", "pages.layout", "pages.backends", "pages.pieces", "scope")
        .map(name -> new Fact(name, name.equals("cache.dtype") ? dtype : "value of " + name)).toList();
    return new LinkerRequest.Identify("", Optional.of(Digest.ZERO), List.of(), facts);
  }

  private static LinkerReply call(Dialogue<LinkerRequest, LinkerReply> linker, LinkerRequest request)
      throws IOException {
    return linker.call(request, LIMIT);
  }

  private Dialogue<LinkerRequest, LinkerReply> connected() throws IOException {
    return LinkerProtocol.dialogue(UnixSocket.connect(endpoint.socket(), LIMIT));
  }

  private Dialogue<LinkerRequest, LinkerReply> greeted() throws IOException {
    Dialogue<LinkerRequest, LinkerReply> linker = connected();
    assertThat(call(linker, hello("0.5.22"))).isInstanceOf(LinkerReply.Welcome.class);
    return linker;
  }

  private static Digest namespace(Dialogue<LinkerRequest, LinkerReply> linker, LinkerRequest.Identify identify)
      throws IOException {
    LinkerReply reply = call(linker, identify);
    while (reply instanceof LinkerReply.Identifying) {
      reply = call(linker, identify);
    }
    return ((LinkerReply.Identified) reply).namespace();
  }

  private LinkerRequest.Attach attach(int rank) {
    return new LinkerRequest.Attach("engine", INCARNATION, namespace, rank, RANKS, SHARD_BYTES, BLOCK_TOKENS,
        PENDING_MILLIS, 0, "", Optional.empty(), 0);
  }

  /** Of a model that has layers with a window of three blocks beside. */
  private LinkerRequest.Attach attachWithWindow(int rank) {
    return new LinkerRequest.Attach("engine", INCARNATION, namespace, rank, RANKS, SHARD_BYTES, BLOCK_TOKENS,
        PENDING_MILLIS, 3, "engine/window", Optional.of(WINDOW_NAMESPACE), SHARD_BYTES);
  }

  private Dialogue<LinkerRequest, LinkerReply> linker(int rank) throws IOException {
    return linker(attach(rank));
  }

  private Dialogue<LinkerRequest, LinkerReply> linker(LinkerRequest.Attach attach) throws IOException {
    Dialogue<LinkerRequest, LinkerReply> linker = greeted();
    while (!call(linker, attach).equals(new LinkerReply.Attached(true))) {
      Thread.onSpinWait();
    }
    return linker;
  }

  /** The workers of all ranks, as their agents attach them. */
  private void startWorkers() {
    startWorkers("engine", namespace, workers);
  }

  private void startWorkers(String instance, Digest of, List<Session> started) {
    for (int rank = 0; rank < RANKS; rank++) {
      clients.add(ManagerClient.open(manager.socket()));
      started.add(clients.getLast().attach(new SessionSpec(instance, new Namespace(of),
          new ShardLayout(RANKS, SHARD_BYTES), BLOCK_TOKENS), new Membership(INCARNATION, rank)));
    }
  }

  private static PrefixChain chain(int seed, int blocks) {
    return PrefixChain.ofTokens(IntStream.range(seed * 1000, seed * 1000 + blocks).toArray(), 1);
  }

  private static byte mark(int rank, int block) {
    return (byte) (100 * rank + block);
  }

  private void save(PrefixChain chain) {
    save(workers, chain);
  }

  private static void save(List<Session> workers, PrefixChain chain) {
    for (int rank = 0; rank < RANKS; rank++) {
      try (SaveGrant grant = workers.get(rank).reserve(rank, chain, 0, chain.blocks())) {
        for (int block = 0; block < chain.blocks(); block++) {
          byte[] bytes = new byte[SHARD_BYTES];
          bytes[0] = mark(rank, block);
          grant.shard(block).copyFrom(MemorySegment.ofArray(bytes));
          CRC32C crc = new CRC32C();
          crc.update(bytes);
          grant.copied(block, (int) crc.getValue());
        }
        grant.commit();
      }
    }
  }

  private static Matched look(Dialogue<LinkerRequest, LinkerReply> linker, String request, int own, PrefixChain chain)
      throws IOException {
    Matched matched;
    do {
      matched = (Matched) call(
          linker, new LinkerRequest.Lookup(request, own, chain.hash(chain.blocks() - 1), chain));
    } while (matched.standing() == Standing.PENDING);
    return matched;
  }

  private static String refusal(Dialogue<LinkerRequest, LinkerReply> linker, LinkerRequest request) throws IOException {
    return ((LinkerReply.Refused) call(linker, request)).message();
  }

  private static long counter(Dialogue<LinkerRequest, LinkerReply> linker, String name) throws IOException {
    return ((LinkerReply.Counted) call(linker, new LinkerRequest.Counters())).values().get(name);
  }

  @Test
  void bothRanksLoadByOneLease() throws IOException {
    try (Dialogue<LinkerRequest, LinkerReply> first = linker(0);
        Dialogue<LinkerRequest, LinkerReply> second = linker(1)) {
      startWorkers();
      save(chain(1, 5));
      Matched matched = look(first, "a", 1, chain(1, 7));
      assertThat(matched.standing()).isEqualTo(Standing.HIT);
      assertThat(matched.blocks()).isEqualTo(4);
      assertThat(look(second, "a", 1, chain(1, 7))).isEqualTo(matched);
      for (int rank = 0; rank < RANKS; rank++) {
        try (RestoreGrant grant = workers.get(rank).restore(matched.lease(), rank)) {
          assertThat(grant.shard(4).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo(mark(rank, 4));
        }
      }
      call(first, new LinkerRequest.GiveUp("a", matched.lease()));
      assertThat(counter(first, "leases")).isOne();
      call(second, new LinkerRequest.GiveUp("a", matched.lease()));
      assertThat(counter(first, "leases")).isZero();
    }
  }

  @Test
  void hitOfAModelWithAWindow_endsWhereItsWindowIsStored() throws IOException {
    try (Dialogue<LinkerRequest, LinkerReply> first = linker(attachWithWindow(0));
        Dialogue<LinkerRequest, LinkerReply> second = linker(attachWithWindow(1))) {
      startWorkers();
      startWorkers("engine/window", WINDOW_NAMESPACE, windowWorkers);
      PrefixChain chain = chain(1, 8);
      save(chain);
      for (int block : new int[] {1, 2, 3, 4, 6, 7}) {
        save(windowWorkers, PrefixChain.of(List.of(chain.hash(block))));
      }
      Matched matched = look(first, "a", 1, chain);
      assertThat(matched.blocks()).isEqualTo(4);
      assertThat(matched.window()).hasSize(3).doesNotHaveDuplicates();
      assertThat(look(second, "a", 1, chain)).isEqualTo(matched);
      for (int rank = 0; rank < RANKS; rank++) {
        try (RestoreGrant grant = windowWorkers.get(rank).restore(matched.window().getFirst(), rank)) {
          assertThat(grant.blocks()).isOne();
          assertThat(grant.shard(0).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo(mark(rank, 0));
        }
        call(rank == 0 ? first : second, new LinkerRequest.GiveUp("a", matched.lease()));
      }
      assertThat(counter(first, "leases")).isZero();
      assertThat(counter(first, "cut_blocks")).isEqualTo(3);
      // An engine that has all of that and the window at its end needs no more of it than what lies behind.
      save(windowWorkers, PrefixChain.of(List.of(chain.hash(5))));
      assertThat(look(first, "b", 7, chain).window()).hasSize(1);
    }
  }

  @Test
  void rankWhoseConnectionBreaks_holdsNothing() throws IOException {
    try (Dialogue<LinkerRequest, LinkerReply> first = linker(0)) {
      Dialogue<LinkerRequest, LinkerReply> second = linker(1);
      startWorkers();
      save(chain(1, 5));
      look(second, "a", 0, chain(1, 5));
      assertThat(counter(first, "leases")).isOne();
      second.close();
      while (counter(first, "leases") > 0) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void factThatDiffers_isAnotherNamespace() throws IOException {
    try (Dialogue<LinkerRequest, LinkerReply> linker = greeted()) {
      assertThat(namespace(linker, identify("float8_e4m3fn"))).isNotEqualTo(namespace);
      assertThat(namespace(linker, identify("bfloat16"))).isEqualTo(namespace);
    }
  }

  @Test
  void whatIsNotServed_isRefused() throws IOException {
    try (Dialogue<LinkerRequest, LinkerReply> linker = connected()) {
      assertThat(refusal(linker, identify("bfloat16"))).contains("Identify came out of order");
      assertThat(refusal(linker, hello("0.5.21"))).startsWith("SGLang is 0.5.21, and ");
      assertThat(refusal(linker, new LinkerRequest.Hello(2, "newer linker", "0.5.22", Protocol.probe())))
          .contains("speaks version 2");
      assertThat(refusal(linker, new LinkerRequest.Hello(1, "other linker", "0.5.22", Digest.ZERO)))
          .contains("would not name the same blocks");
      assertThat(call(linker, hello("0.5.22+cpu"))).isInstanceOf(LinkerReply.Welcome.class);
      assertThat(refusal(linker, new LinkerRequest.Counters())).contains("expected it after Attach");
      assertThat(refusal(linker, new LinkerRequest.Attach(
          "engine", INCARNATION, namespace, 2, RANKS, SHARD_BYTES, BLOCK_TOKENS, 0, 0, "", Optional.empty(), 0)))
          .contains("rank 2 of 2");
      assertThat(refusal(linker, new LinkerRequest.Attach("engine", INCARNATION, namespace, 0, RANKS, SHARD_BYTES,
          BLOCK_TOKENS, 0, 65, "window", Optional.of(Digest.ZERO), 1))).contains("window of 65 blocks in 'window'");
      assertThat(refusal(linker, new LinkerRequest.Attach("engine", INCARNATION, namespace, 0, RANKS, SHARD_BYTES,
          BLOCK_TOKENS, 0, 2, "engine", Optional.of(Digest.ZERO), 1))).contains("an instance and a namespace of their");
      call(linker, attach(0));
      assertThat(refusal(linker, attach(1))).contains("another instance than before");
    }
  }

  @Test
  void withoutAManager_thereIsNothing() throws IOException {
    try (Dialogue<LinkerRequest, LinkerReply> first = linker(0)) {
      startWorkers();
      save(chain(1, 5));
      manager.close();
      Matched matched = look(first, "a", 0, chain(1, 5));
      assertThat(matched).isEqualTo(new Matched(Standing.NONE, 0, 0));
    }
  }
}
