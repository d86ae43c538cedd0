package io.orbitkv.adapter.vllm.request;

import static io.orbitkv.adapter.vllm.request.Scheduler.BLOCK_TOKENS;
import static io.orbitkv.adapter.vllm.request.Scheduler.NO_HASHES;
import static io.orbitkv.adapter.vllm.request.Scheduler.chain;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Standing;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Nothing that was saved before a reset is found after it, and nothing computed before is saved after it. */
class ResetTest {

  private final Scheduler scheduler = new Scheduler();

  private PrefixChain askedLast() {
    return scheduler.cache.asked.getLast().chain;
  }

  @Test
  void reset_givesEveryBlockAnotherName() {
    Set<Digest> names = new HashSet<>();
    for (int resets = 0; resets < 3; resets++) {
      scheduler.lookup("a" + resets, 0, chain(1, 3));
      for (int block = 0; block < 3; block++) {
        names.add(askedLast().hash(block));
      }
      assertThat(scheduler.requests.reset()).isTrue();
    }
    assertThat(names).hasSize(9);
    assertThat(scheduler.count("generation")).isEqualTo(3);
    assertThat(scheduler.count("resets")).isEqualTo(3);
  }

  @Test
  void firstGeneration_isTheSameInEveryStart() {
    scheduler.lookup("a", 0, chain(1, 3));
    assertThat(askedLast()).isEqualTo(chain(1, 3));
  }

  @Test
  void masksCannotBeForeseen() {
    assertThat(Generation.FIRST.next(new SecureRandom()).mask())
        .isNotEqualTo(Generation.FIRST.next(new SecureRandom()).mask());
  }

  @Test
  void requestsThatWait_areAskedForUnderTheNewNames() {
    scheduler.cache.inMemory = 3;
    scheduler.lookup("a", 0, chain(1, 3));
    assertThat(scheduler.requests.reset()).isTrue();
    assertThat(scheduler.cache.heldNow()).as("a lease of the old generation").isZero();
    assertThat(scheduler.allocate("a", 3 * BLOCK_TOKENS, 1, 2, 3, 4).loads()).as("a hit of the old generation")
        .isEmpty();
    scheduler.lookup("b", 0, chain(1, 3));
    assertThat(askedLast()).isNotEqualTo(chain(1, 3));
  }

  @Test
  void missOfBefore_isNotRemembered() {
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.requests.reset();
    scheduler.cache.inMemory = 3;
    assertThat(scheduler.lookup("a", 0, 13, 3, NO_HASHES).standing()).isEqualTo(Standing.HIT);
  }

  @Test
  void requestThatHasPages_isNotSavedUntilItIsComputedAnew() {
    scheduler.allocate("a", 0, 10, 11, 12);
    scheduler.requests.reset();
    assertThat(scheduler.advance("a", 8, 0, chain(1, 3), 3).saves()).isEmpty();
    scheduler.preempt("a");
    scheduler.allocate("a", 0, 20, 21, 22);
    SchedulerReply.Save save = scheduler.advance("a", 12, 3, NO_HASHES, 3).saves().getFirst();
    assertThat(save.pages()).containsExactly(20, 21, 22);
    assertThat(save.hashes().hash(0)).isNotEqualTo(chain(1, 3).hash(0));
  }

  @Test
  void requestThatWasLoadedBefore_isNotSavedUntilItIsComputedAnew() {
    scheduler.cache.inMemory = 2;
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.allocate("a", 2 * BLOCK_TOKENS, 10, 11, 12, 13);
    scheduler.loadEnded("a", true);
    assertThat(scheduler.requests.reset()).isTrue();
    scheduler.allocate("a", 0, 10, 11, 12, 13);
    assertThat(scheduler.advance("a", 12, 3, NO_HASHES, 4).saves()).isEmpty();
    scheduler.cache.inMemory = 0;
    scheduler.lookup("a", 0, 13, 3, NO_HASHES);
    scheduler.allocate("a", 0, 20, 21, 22, 23);
    assertThat(scheduler.advance("a", 12, 3, NO_HASHES, 4).saves()).hasSize(1);
  }

  @Test
  void seriesBegunBefore_beginsAnew() {
    SchedulerReply.Save before = scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11).saves().getFirst();
    scheduler.saveEnded(before.save(), 2);
    scheduler.requests.reset();
    scheduler.preempt("a");
    scheduler.allocate("a", 0, 20, 21);
    SchedulerReply.Save after = scheduler.advance("a", 8, 2, NO_HASHES, 2).saves().getFirst();
    assertThat(after.known()).as("names of the old generation").isZero();
    assertThat(after.hashes().blocks()).isEqualTo(2);
  }

  @Test
  void resetWhileASaveIsUnderWay_isRefused() {
    SchedulerReply.Save save = scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11).saves().getFirst();
    scheduler.finish("a");
    assertThat(scheduler.requests.reset()).isFalse();
    assertThat(scheduler.count("resets_refused")).isEqualTo(1);
    scheduler.saveEnded(save.save(), 2);
    assertThat(scheduler.requests.reset()).isTrue();
  }

  @Test
  void resetWhileALoadIsUnderWay_isRefused() {
    scheduler.cache.inMemory = 3;
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.allocate("a", 3 * BLOCK_TOKENS, 10, 11, 12, 13);
    assertThat(scheduler.requests.reset()).isFalse();
    scheduler.finish("a");
    assertThat(scheduler.requests.reset()).as("finished, and still written to").isFalse();
    scheduler.loadEnded("a", true);
    assertThat(scheduler.requests.reset()).isTrue();
  }

  @Test
  void resetWhileARequestIsDeferred_isRefused() {
    scheduler.cache.hangs = true;
    scheduler.lookup("a", 0, chain(1, 3));
    assertThat(scheduler.requests.reset()).isFalse();
    scheduler.finish("a");
    assertThat(scheduler.requests.reset()).isTrue();
  }
}
