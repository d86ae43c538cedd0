package io.orbitkv.adapter.sglang.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.adapter.sglang.protocol.LinkerReply.Matched;
import io.orbitkv.adapter.sglang.protocol.LinkerReply.Standing;
import io.orbitkv.adapter.sglang.protocol.LinkerRequest.GiveUp;
import io.orbitkv.adapter.sglang.protocol.LinkerRequest.Lookup;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** One lease for all ranks, and its end. */
class RequestsTest {

  private static final PrefixChain NO_HASHES = PrefixChain.ofTokens(new int[0], 1);
  private static final long PENDING_NANOS = 1_000_000_000;

  private final FakeQuestions cache = new FakeQuestions();
  private long now = 5;
  private final Requests requests = new Requests(cache, Optional.empty(), PENDING_NANOS, () -> now);

  private static PrefixChain chain(int seed, int blocks) {
    return PrefixChain.ofTokens(IntStream.range(seed * 1000, seed * 1000 + blocks).toArray(), 1);
  }

  private Matched look(int rank, String request, int own, PrefixChain chain) {
    return requests.matched(rank, new Lookup(request, own, chain.hash(chain.blocks() - 1), chain));
  }

  private Matched lookAgain(int rank, String request, int own, PrefixChain chain) {
    return requests.matched(rank, new Lookup(request, own, chain.hash(chain.blocks() - 1), NO_HASHES));
  }

  private void giveUp(int rank, String request, long lease) {
    requests.giveUp(rank, new GiveUp(request, lease));
  }

  @Test
  void everyRankIsToldOfTheSameLease() {
    cache.inMemory = 4;
    Matched first = look(0, "a", 1, chain(1, 6));
    assertThat(first).isEqualTo(new Matched(Standing.HIT, 3, 1));
    assertThat(look(1, "a", 1, chain(1, 6))).isEqualTo(first);
    assertThat(lookAgain(0, "a", 1, chain(1, 6))).isEqualTo(first);
    assertThat(cache.asked).hasSize(1);
  }

  @Test
  void lease_endsWhenTheLastRankGivesItUp() {
    cache.inMemory = 4;
    look(0, "a", 0, chain(1, 6));
    look(1, "a", 0, chain(1, 6));
    giveUp(0, "a", 1);
    assertThat(cache.heldNow()).isOne();
    giveUp(0, "a", 1);
    assertThat(cache.heldNow()).isOne();
    giveUp(1, "a", 1);
    assertThat(cache.heldNow()).isZero();
    assertThat(requests.counters()).containsEntry("requests", 0L).containsEntry("leases", 0L);
  }

  @Test
  void rankThatHasNotAskedYet_isAnsweredAnew() {
    cache.inMemory = 4;
    look(0, "a", 0, chain(1, 6));
    giveUp(0, "a", 0);
    assertThat(look(1, "a", 0, chain(1, 6))).isEqualTo(new Matched(Standing.HIT, 4, 2));
  }

  @Test
  void anotherTail_endsTheLeaseOfTheOneBefore() {
    cache.inMemory = 4;
    look(0, "a", 0, chain(1, 6));
    look(1, "a", 0, chain(1, 6));
    assertThat(look(0, "a", 0, chain(1, 7))).isEqualTo(new Matched(Standing.HIT, 4, 2));
    assertThat(cache.heldNow()).isOne();
    // Late words of the attempt before do not concern this one.
    giveUp(0, "a", 1);
    assertThat(cache.heldNow()).isOne();
    giveUp(0, "a", 2);
    assertThat(cache.heldNow()).isZero();
  }

  @Test
  void chainIsGivenOnce() {
    cache.inMemory = 4;
    assertThat(lookAgain(0, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.UNKNOWN);
    look(0, "a", 0, chain(1, 6));
    assertThat(lookAgain(1, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.HIT);
    assertThat(lookAgain(1, "a", 0, chain(2, 6)).standing()).isEqualTo(Standing.UNKNOWN);
    assertThat(cache.heldNow()).isZero();
  }

  @Test
  void ownBlocksBeyondTheLease_areNoHit() {
    cache.inMemory = 4;
    look(1, "a", 2, chain(1, 6));
    assertThat(look(0, "a", 4, chain(1, 6)).standing()).isEqualTo(Standing.NONE);
    assertThat(cache.heldNow()).isOne();
    // The last rank that was told of the lease has no use for it either.
    assertThat(look(1, "a", 5, chain(1, 6)).standing()).isEqualTo(Standing.NONE);
    assertThat(cache.heldNow()).isZero();
    // They may be evicted, and what is stored be worth something again.
    assertThat(look(0, "a", 2, chain(1, 6))).isEqualTo(new Matched(Standing.HIT, 2, 2));
  }

  @Test
  void readFromTheSsd_isWaitedForAndNoLongerThanAllowed() {
    cache.inMemory = 2;
    cache.onSsd = 3;
    assertThat(look(0, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.PENDING);
    assertThat(look(1, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.PENDING);
    now += PENDING_NANOS - 1;
    assertThat(look(0, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.PENDING);
    now += 1;
    assertThat(look(1, "a", 0, chain(1, 6))).isEqualTo(new Matched(Standing.HIT, 2, 1));
    assertThat(look(0, "a", 0, chain(1, 6))).isEqualTo(new Matched(Standing.HIT, 2, 1));
  }

  @Test
  void readThatEndsInTime_isAHit() {
    cache.onSsd = 3;
    assertThat(look(0, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.PENDING);
    cache.isRead = true;
    assertThat(look(1, "a", 0, chain(1, 6))).isEqualTo(new Matched(Standing.HIT, 3, 1));
    assertThat(look(0, "a", 0, chain(1, 6))).isEqualTo(new Matched(Standing.HIT, 3, 1));
  }

  @Test
  void cacheThatHangs_isAMiss() {
    cache.hangs = true;
    assertThat(look(0, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.PENDING);
    now += PENDING_NANOS;
    assertThat(look(0, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.NONE);
    assertThat(cache.underWay()).isZero();
  }

  @Test
  void miss_isAMissForAWhile() {
    look(0, "a", 0, chain(1, 6));
    cache.inMemory = 6;
    now += Requests.MISS_NANOS - 1;
    assertThat(look(1, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.NONE);
    now += 1;
    assertThat(look(1, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.HIT);
  }

  @Test
  void rankThatLeaves_isInterestedInNothing() {
    cache.inMemory = 4;
    look(0, "a", 0, chain(1, 6));
    look(1, "a", 0, chain(1, 6));
    look(1, "b", 0, chain(2, 6));
    requests.left(1);
    assertThat(cache.heldNow()).isOne();
    requests.left(0);
    assertThat(cache.heldNow()).isZero();
  }

  @Test
  void whatNobodyAsksAbout_ends() {
    cache.inMemory = 4;
    look(0, "a", 0, chain(1, 6));
    now += Requests.IDLE_NANOS - 1;
    look(0, "b", 0, chain(2, 6));
    assertThat(cache.heldNow()).isEqualTo(2);
    now += TimeUnit.SECONDS.toNanos(1);
    assertThat(requests.counters()).containsEntry("expired", 1L).containsEntry("leases", 1L);
    assertThat(cache.heldNow()).isOne();
  }

  @Test
  void missThatNobodyAsksAbout_isForgottenSoon() {
    look(0, "a", 0, chain(1, 6));
    now += Requests.MISSED_IDLE_NANOS;
    assertThat(requests.counters()).containsEntry("requests", 0L).containsEntry("expired", 0L);
  }

  @Test
  void fullTable_isAMiss() {
    for (int i = 0; i < Requests.MAX_REQUESTS; i++) {
      look(0, "request " + i, 0, chain(i, 2));
    }
    cache.inMemory = 2;
    assertThat(look(0, "one more", 0, chain(1, 2)).standing()).isEqualTo(Standing.NONE);
    assertThat(requests.counters()).containsEntry("table_full", 1L);
    giveUp(0, "request 7", 0);
    assertThat(look(0, "one more", 0, chain(1, 2)).standing()).isEqualTo(Standing.HIT);
  }

  @Test
  void lookupThatContradictsItself_isRefusedAndChangesNothing() {
    cache.inMemory = 4;
    look(0, "a", 0, chain(1, 6));
    assertThatThrownBy(() -> requests.matched(0, new Lookup("a", 0, chain(1, 6).hash(0), chain(1, 6))))
        .isInstanceOf(RefusedException.class).hasMessageContaining("which is to end with");
    assertThatThrownBy(() -> look(0, "a", 6, chain(1, 6))).isInstanceOf(RefusedException.class);
    assertThatThrownBy(() -> look(0, "a", -1, chain(1, 6))).isInstanceOf(RefusedException.class);
    assertThat(cache.heldNow()).isOne();
  }

  @Test
  void close_givesEverythingUp() {
    cache.inMemory = 4;
    look(0, "a", 0, chain(1, 6));
    cache.hangs = true;
    look(0, "b", 0, chain(2, 6));
    requests.close();
    requests.close();
    assertThat(cache.heldNow()).isZero();
    assertThat(cache.underWay()).isZero();
    assertThat(look(0, "a", 0, chain(1, 6)).standing()).isEqualTo(Standing.NONE);
  }
}
