package io.orbitkv.core.manager;

import static io.orbitkv.core.manager.ManagerBench.chain;
import static io.orbitkv.core.manager.RegistrationTest.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.loop.CoreLoop;
import io.orbitkv.core.wire.OtherUser;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Reply.Refusal;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a connection can do to the Manager and to others: nothing that it should not. */
@Timeout(180)
class ConnectionsTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3);

  @TempDir
  private Path folder;

  @Test
  void theSocket_isPrivate() throws IOException {
    try (ManagerBench bench = new ManagerBench(folder)) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(bench.manager.socket())))
          .isEqualTo("rw-------");
    }
  }

  @Test
  void anotherRelease_isRefusedWithBothSidesValues() throws IOException {
    try (ManagerBench bench = new ManagerBench(folder)) {
      Request.Hello right = Caller.hello();
      try (Caller caller = Caller.silent(bench.manager.socket())) {
        assertRefused(caller.call(new Request.Hello(99, "newer 9", right.pid(), right.pidNamespace(), right.probe())),
            Refusal.REFUSED, "'newer 9' speaks protocol 99", "speaks " + Protocol.VERSION);
        assertThatThrownBy(caller::receive).isInstanceOf(IOException.class);
      }
      try (Caller caller = Caller.silent(bench.manager.socket())) {
        assertRefused(
            caller.call(new Request.Hello(Protocol.VERSION, "odd", right.pid(), right.pidNamespace(), Digest.ZERO)),
            Refusal.REFUSED, Digest.ZERO.toHex(), Protocol.probe().toHex());
      }
    }
  }

  @Test
  void aProcessThatIsNotThere_isRefused() {
    try (ManagerBench bench = new ManagerBench(folder); Caller caller = Caller.silent(bench.manager.socket())) {
      Request.Hello right = Caller.hello();
      assertRefused(
          caller.call(new Request.Hello(Protocol.VERSION, "liar", 1L << 40, right.pidNamespace(), right.probe())),
          Refusal.REFUSED, "process " + (1L << 40));
    }
  }

  @Test
  void whoeverDoesNotGreet_isRefused() {
    try (ManagerBench bench = new ManagerBench(folder); Caller caller = Caller.silent(bench.manager.socket())) {
      assertRefused(caller.call(new Request.Stats()), Refusal.REFUSED, "hello");
    }
  }

  @Test
  void garbage_isAnsweredAndCutOff() throws IOException {
    try (ManagerBench bench = new ManagerBench(folder); Caller other = bench.caller(); Caller caller = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      Reply.Granted save = caller.granted(0, CHAIN);
      caller.channel.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 3, (byte) 0xc1, 1, 2}));

      assertThat(caller.receive()).isInstanceOf(Reply.Refused.class);
      assertThatThrownBy(caller::receive).isInstanceOf(IOException.class);
      ManagerBench.await(() -> bench.manager.status().quarantine().size() == 1);
      assertThat(bench.manager.status().quarantine().getFirst().bytes())
          .isEqualTo((long) save.shardsAt().length * ManagerBench.SHARD_BYTES);
      assertThat(other.call(new Request.Stats())).isInstanceOf(Reply.Statistics.class);
    }
  }

  @Test
  void anotherUser_isRefusedBeforeAnythingIsRead() throws IOException, InterruptedException {
    try (ManagerBench bench = new ManagerBench(folder)) {
      assertThat(OtherUser.connect(bench.manager.socket(), folder)).contains("the cache is user root's, and you are ");
      try (Caller own = bench.caller()) {
        assertThat(own.call(new Request.Stats())).isInstanceOf(Reply.Statistics.class);
      }
    }
  }

  @Test
  void whoeverIsSilentOrStopsInTheMiddle_isCutOff_andWhoeverGreetedIsNot() throws IOException {
    try (ManagerBench bench = new ManagerBench(folder); Caller silent = Caller.silent(bench.manager.socket());
        Caller half = Caller.silent(bench.manager.socket()); Caller greeted = bench.caller()) {
      half.channel.write(ByteBuffer.wrap(new byte[] {0, 0, 0, 9, (byte) 0x96}));
      // Blocks until the Manager closes; nothing is said before.
      assertThat(silent.channel.read(ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(half.channel.read(ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(greeted.call(new Request.Stats())).isInstanceOf(Reply.Statistics.class);
    }
  }

  @Test
  void connectionsBeyondTheBound_areRefused_andRoomComesBack() {
    try (ManagerBench bench = new ManagerBench(folder, Manager.builder().connections(2)); Caller first = bench.caller();
        Caller second = bench.caller(); Caller third = Caller.silent(bench.manager.socket())) {
      assertRefused(third.call(Caller.hello()), Refusal.UNAVAILABLE, "2 connections");
      assertThat(first.call(new Request.Stats())).isInstanceOf(Reply.Statistics.class);
      second.hangUp();
      ManagerBench.await(() -> {
        try (Caller next = Caller.silent(bench.manager.socket())) {
          return next.call(Caller.hello()) instanceof Reply.Welcome;
        }
      });
    }
  }

  @Test
  void aPeerThatDoesNotRead_holdsUpNobody() throws IOException {
    try (ManagerBench bench = new ManagerBench(folder); Caller deaf = bench.caller(); Caller other = bench.caller()) {
      deaf.as("deaf", 7, 2, 0);
      other.as("other", 7, 2, Protocol.ALL_RANKS);
      // The reply is longer than what the socket takes, so the Manager's thread for it waits.
      PrefixChain longest = PrefixChain.ofTokens(IntStream.range(0, PrefixChain.MAX_BLOCKS).toArray(), 1);
      deaf.send(new Request.Reserve(deaf.generation(), 0, longest, 0, longest.blocks()));

      for (int i = 0; i < 100; i++) {
        assertThat(other.query(i, CHAIN)).isInstanceOf(Reply.Answered.class);
      }
      assertThat(bench.manager.status().instances()).hasSize(2);
    }
  }

  @Test
  void aFloodOfOneInstance_leavesTheOthersLookups() {
    try (ManagerBench bench = new ManagerBench(folder); Caller victim = bench.caller()) {
      victim.as("victim", 7, 1, Protocol.ALL_RANKS);
      PrefixChain wide = PrefixChain.ofTokens(IntStream.range(0, 2_000).toArray(), 1);
      AtomicBoolean served = new AtomicBoolean();
      List<Thread> flood = new ArrayList<>();
      List<Caller> callers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        Caller caller = bench.caller().as("flood-" + i, 7, 1, Protocol.ALL_RANKS);
        callers.add(caller);
        flood.add(Thread.ofPlatform().start(() -> {
          for (int operation = 0; !served.get(); operation++) {
            caller.query(operation, wide);
          }
        }));
      }
      // Not a figure: if the flood's turns came first, the victim would not be served before the flood's end, which
      // does not come before that.
      try {
        for (int operation = 0; operation < 100; operation++) {
          assertThat(victim.query(operation, CHAIN)).isInstanceOf(Reply.Answered.class);
        }
      } finally {
        served.set(true);
      }
      flood.forEach(thread -> {
        try {
          thread.join();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      });
      callers.forEach(Caller::close);
    }
  }

  @Test
  void manyConnectionsOfOneInstance_waitForATurnAsOne() throws Exception {
    try (ManagerBench bench = new ManagerBench(folder); Caller victim = bench.caller()) {
      victim.as("victim", 7, 4, Protocol.ALL_RANKS);
      List<Caller> ranks = new ArrayList<>();
      for (int rank = 0; rank < 4; rank++) {
        ranks.add(bench.caller().as("flood", 7, 4, rank));
      }
      CountDownLatch turnIsTaken = new CountDownLatch(1);
      CountDownLatch endOfTurn = new CountDownLatch(1);
      Thread holder = Thread.ofPlatform().start(() -> bench.manager.turn(() -> {
        turnIsTaken.countDown();
        try {
          return endOfTurn.await(120, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }));
      turnIsTaken.await();
      for (int rank = 0; rank < 4; rank++) {
        ranks.get(rank).send(
            new Request.Reserve(ranks.get(rank).generation(), rank, CHAIN, 0, CHAIN.blocks()));
      }
      victim.send(new Request.Query(victim.generation(), 0, 0, CHAIN));
      ManagerBench.await(() -> waiting(Conversation.class) == 5);

      assertThat(waiting(CoreLoop.class)).as("threads that wait for the turn: one of each instance").isEqualTo(2);

      endOfTurn.countDown();
      holder.join();
      assertThat(victim.receive()).isInstanceOf(Reply.Answered.class);
      // The first that closes ends the generation, and which of them has its turn last is open.
      for (Caller rank : ranks) {
        assertThat(rank.receive()).isInstanceOf(Reply.Granted.class);
      }
      for (Caller rank : ranks) {
        rank.close();
      }
    }
  }

  /** Returns how many connections' threads wait somewhere in a class. */
  private static long waiting(Class<?> where) {
    return Thread.getAllStackTraces().entrySet().stream()
        .filter(thread -> thread.getKey().getName().startsWith("orbitkv-connection")
            && thread.getKey().getState() == Thread.State.WAITING
            && Arrays.stream(thread.getValue()).anyMatch(frame -> frame.getClassName().equals(where.getName())))
        .count();
  }

  @Test
  void closing_leavesNothing() throws IOException {
    ManagerBench bench = new ManagerBench(folder);
    try (Caller caller = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      caller.save(0, CHAIN);
      caller.hit(0, CHAIN);
      caller.granted(0, chain(8));
      assertThat(bench.manager.status().ready()).isTrue();
      assertThat(files()).contains("manager.sock", caller.witness());

      bench.close();
      bench.close();

      assertThat(files()).isEmpty();
      ManagerStatus status = bench.manager.status();
      assertThat(status.ready()).isFalse();
      assertThat(status.instances()).isEmpty();
      assertThat(status.quarantine()).isEmpty();
      assertThat(status.cache().dramBytes()).isZero();
      assertThat(status.cache().leasedBytes()).isZero();
      assertThat(status.cache().quarantinedBytes()).isZero();
      assertThat(status.cache().blocksSaved()).isEqualTo(3);
      assertThat(status.coreEvents()).isPositive();
      assertThat(status.coreEventP99Nanos()).isPositive();
      assertThatThrownBy(() -> caller.call(new Request.Stats())).hasRootCauseInstanceOf(IOException.class);
    }
  }

  @Test
  void closing_whileOthersConnect_endsEveryConnection() throws InterruptedException {
    for (int round = 0; round < 50; round++) {
      ManagerBench bench = new ManagerBench(folder);
      Path socket = bench.manager.socket();
      List<SocketChannel> connected = Collections.synchronizedList(new ArrayList<>());
      CountDownLatch first = new CountDownLatch(1);
      Thread connecting = Thread.ofPlatform().start(() -> {
        try {
          while (true) {
            connected.add(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
            first.countDown();
          }
        } catch (IOException e) {
          return; // The Manager listens no more.
        }
      });
      first.await();

      bench.close();

      connecting.join();
      connected.forEach(ConnectionsTest::awaitEnd);
    }
  }

  /** Reads until the other side has closed the connection, which is an error if it never accepted it. */
  private static void awaitEnd(SocketChannel channel) {
    ByteBuffer read = ByteBuffer.allocate(1024);
    try (channel) {
      while (channel.read(read.clear()) >= 0) {
        continue;
      }
    } catch (IOException e) {
      return;
    }
  }

  @Test
  void opening_removesWhatADeadManagerLeft() throws IOException {
    Files.writeString(folder.resolve("manager.sock"), "");
    Files.writeString(folder.resolve("witness-77"), "");
    Files.writeString(folder.resolve("manager.http"), "");
    try (ManagerBench bench = new ManagerBench(folder); Caller caller = bench.caller()) {
      assertThat(files()).doesNotContain("witness-77", "manager.http");
      assertThat(caller.call(new Request.Stats())).isInstanceOf(Reply.Statistics.class);
    }
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }
}
