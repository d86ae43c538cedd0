package io.orbitkv.core.manager;

import static io.orbitkv.core.manager.ManagerBench.chain;
import static io.orbitkv.core.manager.RegistrationTest.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Reply.Refusal;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a lost member was granted is not used again before it is proven that nothing of it can use it. */
@Timeout(180)
class QuarantineTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3);

  @TempDir
  private Path folder;

  private ManagerBench bench;

  @BeforeEach
  void open() {
    bench = new ManagerBench(folder);
  }

  @AfterEach
  void close() {
    bench.close();
  }

  @Test
  void whatALivingProcessHeld_isQuarantinedUntilItSettles() {
    Caller lost = bench.caller().as("engine", 7, 1, Protocol.ALL_RANKS);
    lost.save(0, CHAIN);
    Reply.Answered hit = lost.hit(0, CHAIN);
    assertThat(lost.restore(hit.lease(), 0)).isInstanceOf(Reply.Granted.class);
    lost.granted(0, chain(8, 9));
    lost.hangUp();
    ManagerBench.await(() -> !bench.manager.status().quarantine().isEmpty());

    ManagerStatus status = bench.manager.status();
    assertThat(status.degraded()).singleElement().asString().contains("1 lost members");
    assertThat(status.quarantine()).singleElement().satisfies(one -> {
      assertThat(one.instance()).isEqualTo("engine");
      assertThat(one.rank()).isEqualTo(Protocol.ALL_RANKS);
      assertThat(one.bytes()).isEqualTo(5L * ManagerBench.SHARD_BYTES);
      assertThat(one.waitingFor()).isEqualTo("process " + ProcessHandle.current().pid() + " to be gone");
    });
    assertThat(status.cache().quarantinedBytes()).isEqualTo(5L * ManagerBench.SHARD_BYTES);

    try (Caller next = bench.caller().as("engine", 7, 1, Protocol.ALL_RANKS)) {
      assertThat(next.call(new Request.Settle(lost.member()))).isEqualTo(new Reply.Done());
      assertThat(bench.manager.status().quarantine()).isEmpty();
      assertThat(bench.manager.status().cache().quarantinedBytes()).isZero();
      assertThat(bench.manager.status().cache().leasedBytes()).isZero();
      assertThat(bench.manager.status().degraded()).isEmpty();
      ManagerBench.await(() -> !Caller.exists(folder.resolve(lost.witness())));
      assertRefused(next.call(new Request.Settle(lost.member())), Refusal.REFUSED, "no earlier member");
      assertThat(((Reply.Granted) next.reserve(0, chain(8, 9))).grant()).isPositive();
    }
  }

  @Test
  void settling_isForTheSameProcessOnly() {
    Caller lost = bench.caller().as("engine", 7, 1, Protocol.ALL_RANKS);
    lost.granted(0, CHAIN);
    lost.hangUp();
    ManagerBench.await(() -> !bench.manager.status().quarantine().isEmpty());

    try (Caller stranger = Caller.silent(bench.manager.socket())) {
      assertThat(stranger.call(new Request.Hello(Protocol.VERSION, "other", 1, 4711, Protocol.probe())))
          .isInstanceOf(Reply.Welcome.class);
      assertRefused(stranger.call(new Request.Settle(lost.member())), Refusal.REFUSED, "only the process");
      assertThat(bench.manager.status().quarantine()).hasSize(1);
    }
  }

  @Test
  void settling_mayComeBeforeTheBreakIsNoticed() {
    try (Caller first = bench.caller().as("engine", 7, 1, Protocol.ALL_RANKS); Caller next = bench.caller()) {
      Reply.Granted save = first.granted(0, CHAIN);

      next.as("engine", 7, 1, Protocol.ALL_RANKS);
      assertThat(next.call(new Request.Settle(first.member()))).isEqualTo(new Reply.Done());

      assertThat(bench.manager.status().cache().dramBytes()).isZero();
      assertRefused(first.commit(save), Refusal.REFUSED, "holds no such grant");
      assertThat(next.granted(0, CHAIN).shardsAt()).hasSize(3);
    }
  }

  @Test
  void aProcessElsewhere_isGrantedNothingBeforeItLocksItsWitness_andGoneWhenTheLockIs() throws IOException {
    try (Caller member = Caller.silent(bench.manager.socket())) {
      member.call(new Request.Hello(Protocol.VERSION, "container", 1, 4711, Protocol.probe()));
      member.as("engine", 7, 1, Protocol.ALL_RANKS);
      assertRefused(member.reserve(0, CHAIN), Refusal.REFUSED, "witness", "not locked");

      // The lock is seen as held by this process, which is the Manager's too; the kernel's view of it is tested with
      // processes.
      FileChannel witness = FileChannel.open(folder.resolve(member.witness()), StandardOpenOption.WRITE);
      assertThat(witness.tryLock()).isNotNull();
      member.granted(0, CHAIN);
      member.hangUp();
      ManagerBench.await(() -> !bench.manager.status().quarantine().isEmpty());
      assertThat(bench.manager.status().quarantine().getFirst().waitingFor()).contains("lock on " + member.witness());
      witness.close();
      ManagerBench.await(() -> bench.manager.status().quarantine().isEmpty());
      assertThat(bench.manager.status().cache().dramBytes()).isZero();
    }
  }
}
