package io.orbitkv.cli.manager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Answer;
import io.orbitkv.api.ByteSize;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.manager.Manager;
import io.orbitkv.core.manager.ManagerStatus;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes that are killed and stopped: nothing that was committed is lost, and nobody waits for the dead. */
@Timeout(300)
class DeathTest {

  private static final Duration SOON = Duration.ofSeconds(60);
  private static final PrefixChain CHAIN = MemberProcess.chain(100, 4);

  @TempDir(factory = SharedMemoryFolder.class)
  private Path runtime;

  @TempDir
  private Path disk;

  @Test
  void ranksInProcesses_restoreWhatTheySaved() throws IOException {
    try (Manager manager = manager(); TestProcess first = TestProcess.member(manager.socket(), "engine", 5, 0, 2);
        TestProcess second = TestProcess.member(manager.socket(), "engine", 5, 1, 2);
        ManagerClient client = ManagerClient.open(manager.socket());
        Session scheduler = client.attach(
            MemberProcess.spec("engine", 2), new Membership(5, Membership.SCHEDULER))) {
      assertThat(List.of(first.read(), second.read())).containsOnly("ready");
      assertThat(first.ask("save 100 4")).isEqualTo("saved 4");
      assertThat(scheduler.query(CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.NOT_STORED));
      assertThat(second.ask("save 100 4")).isEqualTo("saved 4");
      long lease = ((Answer.Hit) scheduler.query(CHAIN).poll()).lease().id();
      assertThat(first.ask("restore " + lease + " 100")).isEqualTo("restored 4");
      assertThat(second.ask("restore " + lease + " 100")).isEqualTo("restored 4");
      assertThat(first.ask("restore " + lease + " 100")).startsWith("refused lease " + lease);
      assertThat(manager.status().cache().leasedBytes()).isZero();
    }
  }

  @Test
  void whatAKilledProcessHeld_isFreeWithinASecond() throws IOException, InterruptedException {
    try (Manager manager = manager(); TestProcess killed = TestProcess.member(manager.socket(), "engine", 5, -2, 1)) {
      assertThat(killed.read()).isEqualTo("ready");
      assertThat(killed.ask("save 100 4")).isEqualTo("saved 4");
      String[] hit = killed.ask("query 100 4").split(" ");
      assertThat(killed.ask("hold-restore " + hit[1])).isEqualTo("holds 4");
      assertThat(killed.ask("hold-save 500 3")).isEqualTo("holds 3");
      long saved = manager.status().cache().dramBytes();

      killed.signal("KILL");
      assertThat(killed.awaitEnd()).isEqualTo(128 + 9);
      long dead = System.nanoTime();
      await(() -> {
        ManagerStatus status = manager.status();
        return status.instances().isEmpty() && status.quarantine().isEmpty() && status.cache().leasedBytes() == 0
            && status.cache().dramBytes() < saved;
      });
      assertThat(Duration.ofNanos(System.nanoTime() - dead)).isLessThan(Duration.ofSeconds(1));
      assertThat(manager.status().cache().quarantinedBytes()).isZero();
      await(() -> files().noneMatch(file -> file.startsWith("witness-")));

      // What it had committed is there, and what it had not is not.
      try (TestProcess next = TestProcess.member(manager.socket(), "engine", 6, -2, 1)) {
        assertThat(next.read()).isEqualTo("ready");
        String[] again = next.ask("query 100 4").split(" ");
        assertThat(next.ask("restore " + again[1] + " 100")).isEqualTo("restored 4");
        assertThat(next.ask("query 500 3")).isEqualTo("Miss[reason=NOT_STORED]");
      }
    }
  }

  @Test
  void aStoppedProcess_keepsWhatItHoldsAndHoldsUpNobody() throws IOException, InterruptedException {
    try (Manager manager = manager(); TestProcess stopped = TestProcess.member(manager.socket(), "stopped", 5, -2, 1);
        ManagerClient client = ManagerClient.open(manager.socket());
        Session session = client.attach(MemberProcess.spec("other", 1))) {
      assertThat(stopped.read()).isEqualTo("ready");
      assertThat(stopped.ask("hold-save 500 3")).isEqualTo("holds 3");
      stopped.signal("STOP");
      long before = manager.status().cache().dramBytes();

      for (int i = 0; i < 100; i++) {
        assertThat(session.query(CHAIN).poll()).isInstanceOf(Answer.Miss.class);
      }
      // A later start of it takes its place; its memory is not given away, since it may go on.
      try (Session next = client.attach(MemberProcess.spec("stopped", 1), new Membership(6, Membership.ALL_RANKS))) {
        assertThat(next.query(CHAIN).poll()).isInstanceOf(Answer.Miss.class);
        assertThat(manager.status().cache().dramBytes()).isEqualTo(before);
        stopped.signal("CONT");
        assertThat(stopped.ask("end")).isEqualTo("ended");
        assertThat(manager.status().cache().dramBytes()).isZero();
        assertThat(stopped.ask("hold-save 700 1")).isEqualTo("holds 0");
      }
    }
  }

  @Test
  void aManagerThatWasKilled_isReachedAgainWithinFiveSeconds_andItsSsdHits()
      throws IOException, InterruptedException {
    Path socket = runtime.resolve("manager.sock");
    TestProcess manager = managerProcess();
    try (ManagerClient client = ManagerClient.open(socket);
        Session session = client.attach(MemberProcess.spec("engine", 1));
        TestProcess member = TestProcess.member(socket, "writer", 5, -2, 1)) {
      assertThat(member.read()).isEqualTo("ready");
      assertThat(member.ask("save 100 4")).isEqualTo("saved 4");
      assertThat(client.flush(SOON)).isTrue();
      RestoreGrant held = session.restore(((Answer.Hit) session.query(CHAIN).poll()).lease(), 0);
      SaveGrant unfinished = session.reserve(0, MemberProcess.chain(900, 2), 0, 2);

      manager.signal("KILL");
      manager.awaitEnd();

      assertThat(session.query(CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.UNAVAILABLE));
      assertThat(session.reserve(0, CHAIN, 0, 4).wanted()).isZero();
      assertThatThrownBy(() -> session.restore(1L, 0)).isInstanceOf(RefusedException.class);
      assertThatThrownBy(client::stats).isInstanceOf(UnavailableException.class).hasMessageContaining("no Manager");
      // What is held can be read and written until its holder is done.
      assertThat(held.shard(2).get(ValueLayout.JAVA_BYTE, 9)).isEqualTo(MemberProcess.content(100, 2, 0));
      unfinished.shard(0).fill((byte) 1);

      try (TestProcess restarted = managerProcess()) {
        long up = System.nanoTime();
        await(() -> !session.query(CHAIN).poll().equals(new Answer.Miss(MissReason.UNAVAILABLE)));
        assertThat(Duration.ofNanos(System.nanoTime() - up)).isLessThan(Duration.ofSeconds(5));
        Answer.Hit hit = (Answer.Hit) session.query(CHAIN).await(SOON);
        assertThat(hit.blocks()).isEqualTo(4);
        try (RestoreGrant restore = session.restore(hit.lease(), 0)) {
          for (int block = 0; block < 4; block++) {
            assertThat(restore.shard(block).get(ValueLayout.JAVA_BYTE, 4095))
                .isEqualTo(MemberProcess.content(100, block, 0));
          }
        }
        assertThat(held.shard(3).get(ValueLayout.JAVA_BYTE, 9)).isEqualTo(MemberProcess.content(100, 3, 0));
        held.close();
        assertThat(unfinished.commit()).isZero();
        await(() -> saves(member, 700));

        restarted.signal("TERM");
        assertThat(restarted.awaitEnd()).isZero();
        assertThat(files()).containsExactly("arena.lock");
      }
    } finally {
      manager.close();
    }
  }

  @Test
  void aSecondManagerOnOneFolder_isRefusedByTheNumberOfTheFirst() throws IOException {
    try (Manager manager = manager()) {
      assertThat(manager.status().ready()).isTrue();
      assertThatThrownBy(this::manager)
          .isInstanceOf(UnavailableException.class)
          .hasMessageContaining("owned by process " + ProcessHandle.current().pid());
      try (ManagerClient client = ManagerClient.open(manager.socket())) {
        assertThat(client.stats().blocksDram()).isZero();
      }
    }
  }

  @Test
  void aStoppedManager_costsARequestItsDeadline() throws IOException, InterruptedException {
    try (TestProcess manager = managerProcess();
        ManagerClient client = ManagerClient.open(runtime.resolve("manager.sock"));
        Session session = client.attach(MemberProcess.spec("engine", 1))) {
      manager.signal("STOP");
      long start = System.nanoTime();
      assertThat(session.query(CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.UNAVAILABLE));
      for (int i = 0; i < 100; i++) {
        assertThat(session.query(CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.UNAVAILABLE));
      }
      // Once: each time, it would be a hundred of them.
      assertThat(Duration.ofNanos(System.nanoTime() - start))
          .isLessThan(ManagerClient.DEFAULT_DEADLINE.multipliedBy(10));
      manager.signal("CONT");
      await(() -> session.query(CHAIN).poll().equals(new Answer.Miss(MissReason.NOT_STORED)));
    }
  }

  @Test
  void whatAClientHeldOverABrokenConnection_isFreeWhenItIsDone() throws IOException, InterruptedException {
    try (TestProcess manager = managerProcess();
        ManagerClient client = ManagerClient.open(runtime.resolve("manager.sock"));
        Session session = client.attach(MemberProcess.spec("engine", 1))) {
      SaveGrant held = session.reserve(0, CHAIN, 0, 4);
      assertThat(held.wanted()).isEqualTo(4);
      manager.signal("STOP");
      assertThat(session.query(CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.UNAVAILABLE));
      manager.signal("CONT");
      await(() -> session.query(CHAIN).poll().equals(new Answer.Miss(MissReason.NOT_STORED)));

      // This process lives and may be writing: only its own word frees the memory. One thread of the Manager serves the
      // new connection, and another sees that the old one broke.
      await(() -> client.stats().quarantinedBytes() > 0);
      held.shard(3).fill((byte) 1);
      held.copied(3, 0);
      assertThat(held.commit()).isZero();
      await(() -> client.stats().quarantinedBytes() == 0 && client.stats().dramBytes() == 0);
    }
  }

  private static boolean saves(TestProcess member, int first) {
    try {
      return member.ask("save " + first + " 1").equals("saved 1");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private Manager manager() {
    return Manager.builder().dram(ByteSize.parse("1MiB")).policy("lru").runtimeDirectory(runtime)
        .grantsLimit(Duration.ZERO).open();
  }

  private TestProcess managerProcess() throws IOException {
    TestProcess process = TestProcess.orbitkv("manager", "--http", "off", "--dram", "1MiB", "--policy", "lru", "--storage", "file",
        "--ssd", disk.resolve("ssd") + ":64MiB", "--runtime", runtime.toString());
    assertThat(process.read()).startsWith("ready: " + runtime.resolve("manager.sock"));
    return process;
  }

  private Stream<String> files() {
    try (Stream<Path> files = Files.list(runtime)) {
      return files.map(file -> file.getFileName().toString()).toList().stream();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + SOON.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("it did not come true within " + SOON.toSeconds() + " s");
      }
      Thread.yield();
    }
  }
}
