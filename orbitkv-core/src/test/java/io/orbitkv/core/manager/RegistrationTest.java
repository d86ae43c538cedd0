package io.orbitkv.core.manager;

import static io.orbitkv.core.manager.ManagerBench.chain;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.manager.ManagerStatus.InstanceStatus;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Reply.Refusal;
import io.orbitkv.core.wire.Reply.Standing;
import io.orbitkv.core.wire.Request;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who may begin what, and until when. */
class RegistrationTest {

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
  void anInstance_servesWhenAllItsRanksAreIn() {
    try (Caller scheduler = bench.caller(); Caller first = bench.caller(); Caller second = bench.caller()) {
      scheduler.as("engine", 7, 2, Protocol.SCHEDULER);
      assertThat(first.register("engine", 7, 2, 0))
          .isInstanceOfSatisfying(Reply.Registered.class, reply -> assertThat(reply.missing()).isEqualTo(1));

      assertThat(scheduler.query(0, CHAIN)).isInstanceOfSatisfying(Reply.Answered.class, answer -> {
        assertThat(answer.standing()).isEqualTo(Standing.BUSY);
        assertThat(answer.bound()).isEqualTo("1 of 2 ranks registered");
      });
      assertThat(first.reserve(0, CHAIN)).isInstanceOfSatisfying(Reply.Granted.class, grant -> {
        assertThat(grant.grant()).isZero();
        assertThat(grant.shardsAt()).containsExactly(Protocol.UNWANTED, Protocol.UNWANTED, Protocol.UNWANTED);
      });
      assertThat(bench.manager.status().instances()).extracting(InstanceStatus::state).containsExactly("registering");

      second.as("engine", 7, 2, 1);
      assertThat(bench.manager.status().instances()).extracting(InstanceStatus::state).containsExactly("open");
      first.save(0, CHAIN);
      second.save(1, CHAIN);
      assertThat(((Reply.Granted) first.reserve(0, CHAIN)).shardsAt()).containsOnly(Protocol.STORED);
      Reply.Answered hit = scheduler.hit(1, CHAIN);
      assertThat(hit.dramBlocks()).isEqualTo(3);
      long[] one = ((Reply.Granted) first.restore(hit.lease(), 0)).shardsAt();
      long[] other = ((Reply.Granted) second.restore(hit.lease(), 1)).shardsAt();
      assertThat(other[2] - one[2]).isEqualTo(ManagerBench.SHARD_BYTES);
    }
  }

  @Test
  void aMember_doesItsPartOnly() {
    try (Caller scheduler = bench.caller(); Caller rank = bench.caller(); Caller other = bench.caller()) {
      scheduler.as("engine", 7, 2, Protocol.SCHEDULER);
      rank.as("engine", 7, 2, 0);
      other.as("engine", 7, 2, 1);

      assertRefused(rank.query(0, CHAIN), Refusal.REFUSED, "its scheduler asks");
      assertRefused(rank.reserve(1, CHAIN), Refusal.REFUSED, "transfer of rank 1", "rank 0 of instance 'engine'");
      assertRefused(scheduler.reserve(0, CHAIN), Refusal.REFUSED, "the scheduler of instance 'engine'");
      assertRefused(rank.register("second", 1, 1, 0), Refusal.REFUSED, "leave first");
    }
  }

  @Test
  void members_mustAgree() {
    try (Caller first = bench.caller(); Caller second = bench.caller()) {
      first.as("engine", 7, 2, 0);

      assertRefused(second.register("engine", 7, 3, 1), Refusal.REFUSED, "2 ranks", "3 ranks", "must agree");
      assertRefused(second.register("engine", 7, 2, 2), Refusal.REFUSED, "member 2", "rank 0 to 1");
      second.as("engine", 7, 2, 1);
    }
  }

  @Test
  void anotherIncarnation_replacesTheInstance() {
    try (Caller before = bench.caller(); Caller after = bench.caller()) {
      before.as("engine", 7, 1, Protocol.ALL_RANKS);
      before.save(0, CHAIN);
      Reply.Answered hit = before.hit(1, CHAIN);
      Reply.Granted restore = (Reply.Granted) before.restore(hit.lease(), 0);
      Reply.Granted save = before.granted(0, chain(9));

      after.as("engine", 8, 1, Protocol.ALL_RANKS);

      assertRefused(before.query(2, CHAIN), Refusal.SUPERSEDED, "replaced by a later registration");
      assertRefused(before.reserve(0, CHAIN), Refusal.SUPERSEDED, "replaced");
      assertRefused(before.restore(hit.lease(), 0), Refusal.SUPERSEDED, "replaced");
      // What it was granted it may end, and nothing that it wrote becomes visible.
      assertThat(before.call(new Request.Enqueued(restore.grant()))).isEqualTo(new Reply.Done());
      assertThat(before.call(new Request.Drained(restore.grant()))).isEqualTo(new Reply.Done());
      assertThat(before.commit(save)).isEqualTo(new Reply.Committed(0));
      assertThat(((Reply.Answered) after.query(0, chain(9))).standing()).isEqualTo(Standing.MISS);
      assertThat(after.hit(1, CHAIN).dramBlocks()).isEqualTo(3);
      // An earlier start must not throw out its successor.
      assertRefused(before.register("engine", 7, 1, Protocol.ALL_RANKS), Refusal.REFUSED, "replaced by a later start");
    }
  }

  @Test
  void aSecondRegistrationOfAMember_replacesTheGeneration_andOthersFollow() {
    try (Caller scheduler = bench.caller(); Caller rank = bench.caller(); Caller again = bench.caller()) {
      scheduler.as("engine", 7, 1, Protocol.SCHEDULER);
      rank.as("engine", 7, 1, 0);
      again.as("engine", 7, 1, 0);

      assertRefused(scheduler.query(0, CHAIN), Refusal.SUPERSEDED, "replaced");
      scheduler.as("engine", 7, 1, Protocol.SCHEDULER);
      assertThat(scheduler.generation()).isEqualTo(again.generation());
      assertThat(((Reply.Answered) scheduler.query(0, CHAIN)).standing()).isEqualTo(Standing.MISS);
    }
  }

  @Test
  void aBrokenMember_endsTheGeneration_butNotTheOthersGrants() {
    try (Caller scheduler = bench.caller(); Caller rank = bench.caller(); Caller other = bench.caller()) {
      scheduler.as("engine", 7, 2, Protocol.SCHEDULER);
      rank.as("engine", 7, 2, 0);
      other.as("engine", 7, 2, 1);
      Reply.Granted save = rank.granted(0, CHAIN);

      other.hangUp();
      ManagerBench.await(() -> bench.manager.status().instances().getFirst().state().equals("lost"));

      assertRefused(scheduler.query(0, CHAIN), Refusal.SUPERSEDED, "lost a member");
      assertThat(bench.manager.status().quarantine()).isEmpty();
      assertThat(rank.commit(save)).isEqualTo(new Reply.Committed(0));
      assertThat(bench.manager.status().instances()).isEmpty();
      rank.as("engine", 7, 2, 0);
    }
  }

  @Test
  void requestsOfAnEarlierGeneration_changeNothing() {
    try (Caller caller = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      long earlier = caller.generation();
      assertThat(caller.call(new Request.Leave(earlier))).isEqualTo(new Reply.Done());
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      Reply.Granted save = caller.granted(0, CHAIN);
      long allocated = bench.manager.status().cache().dramBytes();

      assertRefused(caller.call(new Request.Query(earlier, 0, 0, CHAIN)), Refusal.SUPERSEDED, "not this connection's");
      assertRefused(caller.call(new Request.Reserve(earlier, 0, CHAIN, 0, 3)), Refusal.SUPERSEDED, "generation");
      assertRefused(caller.call(new Request.Restore(earlier, 1, 0)), Refusal.SUPERSEDED, "generation");
      assertRefused(caller.call(new Request.Release(earlier, 1)), Refusal.SUPERSEDED, "generation");
      assertRefused(caller.call(new Request.Leave(earlier)), Refusal.SUPERSEDED, "generation");
      assertThat(bench.manager.status().cache().dramBytes()).isEqualTo(allocated);
      assertThat(caller.commit(save)).isEqualTo(new Reply.Committed(3));
    }
  }

  @Test
  void afterLeaving_nothingBegins_andGrantsGoOn() {
    try (Caller caller = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      Reply.Granted save = caller.granted(0, CHAIN);
      assertThat(caller.call(new Request.Leave(caller.generation()))).isEqualTo(new Reply.Done());

      assertRefused(caller.query(0, CHAIN), Refusal.CLOSED, "has left");
      assertThat(bench.manager.status().instances()).extracting(InstanceStatus::state).containsExactly("closing");
      assertThat(caller.commit(save)).isEqualTo(new Reply.Committed(3));
      assertThat(bench.manager.status().instances()).isEmpty();
    }
  }

  @Test
  void grants_areEndedByTheirConnectionOnly_andOnce() {
    try (Caller holder = bench.caller(); Caller stranger = bench.caller()) {
      holder.as("one", 7, 1, Protocol.ALL_RANKS);
      stranger.as("two", 7, 1, Protocol.ALL_RANKS);
      Reply.Granted save = holder.granted(0, CHAIN);

      assertRefused(stranger.commit(save), Refusal.REFUSED, "holds no such grant");
      assertRefused(stranger.call(new Request.Abort(save.grant())), Refusal.REFUSED, "holds no such grant");
      assertRefused(holder.call(new Request.Drained(save.grant())), Refusal.REFUSED, "holds no such grant");
      assertRefused(holder.call(new Request.Commit(save.grant(), new boolean[2], new int[2])), Refusal.REFUSED,
          "2 checksums");
      assertThat(holder.commit(save)).isEqualTo(new Reply.Committed(3));
      assertRefused(holder.commit(save), Refusal.REFUSED, "holds no such grant");
    }
  }

  @Test
  void aRestore_isEnqueuedOnceAndDrainedOnce() {
    try (Caller caller = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      caller.save(0, CHAIN);
      Reply.Answered hit = caller.hit(0, CHAIN);
      Reply.Granted restore = (Reply.Granted) caller.restore(hit.lease(), 0);

      assertRefused(caller.restore(hit.lease(), 0), Refusal.REFUSED, "lease " + hit.lease());
      assertThat(caller.call(new Request.Enqueued(restore.grant()))).isEqualTo(new Reply.Done());
      assertRefused(caller.call(new Request.Enqueued(restore.grant())), Refusal.REFUSED, "enqueued already");
      assertThat(caller.call(new Request.Drained(restore.grant()))).isEqualTo(new Reply.Done());
      assertThat(bench.manager.status().cache().leasedBytes()).isZero();
    }
  }

  @Test
  void aReleasedLease_canNotBeRestored() {
    try (Caller caller = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      caller.save(0, CHAIN);
      Reply.Answered hit = caller.hit(0, CHAIN);

      assertThat(caller.call(new Request.Release(caller.generation(), hit.lease()))).isEqualTo(new Reply.Done());
      assertThat(caller.call(new Request.Release(caller.generation(), hit.lease()))).isEqualTo(new Reply.Done());
      assertRefused(caller.restore(hit.lease(), 0), Refusal.REFUSED, "lease " + hit.lease());
      assertThat(bench.manager.status().cache().leasedBytes()).isZero();
    }
  }

  @Test
  void blocksThatLeave_areToldToWhoAsksQueries() {
    try (Caller caller = bench.caller(); Caller rank = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      Reply.Departed first = (Reply.Departed) caller.call(new Request.Follow(caller.generation(), 0));
      assertThat(first.all()).isTrue();
      caller.save(0, CHAIN);
      bench.manager.evict(ByteSize.parse("1GiB"));
      Reply.Departed next = (Reply.Departed) caller.call(new Request.Follow(caller.generation(), first.cursor()));
      assertThat(next.all()).isFalse();
      assertThat(IntStream.range(0, next.blocks().blocks()).mapToObj(next.blocks()::hash))
          .containsExactlyInAnyOrderElementsOf(IntStream.range(0, CHAIN.blocks()).mapToObj(CHAIN::hash).toList());
      rank.as("other", 8, 1, 0);
      assertRefused(rank.call(new Request.Follow(rank.generation(), 0)), Refusal.REFUSED, "its scheduler asks");
    }
  }

  @Test
  void whenDraining_nothingBegins() {
    try (Caller caller = bench.caller(); Caller late = bench.caller()) {
      caller.as("engine", 7, 1, Protocol.ALL_RANKS);
      Reply.Granted save = caller.granted(0, CHAIN);
      bench.manager.drain();

      assertThat(bench.manager.status().ready()).isFalse();
      assertThat(((Reply.Answered) caller.query(0, CHAIN)).bound()).isEqualTo("the Manager is draining");
      assertThat(((Reply.Granted) caller.reserve(0, chain(5))).grant()).isZero();
      assertRefused(late.register("other", 1, 1, 0), Refusal.UNAVAILABLE, "draining");
      assertThat(caller.commit(save)).isEqualTo(new Reply.Committed(3));
    }
  }

  static void assertRefused(Reply reply, Refusal refusal, String... words) {
    assertThat(reply).isInstanceOfSatisfying(Reply.Refused.class, refused -> {
      assertThat(refused.refusal()).as(refused.message()).isEqualTo(refusal);
      assertThat(refused.message()).contains(words);
    });
  }
}
