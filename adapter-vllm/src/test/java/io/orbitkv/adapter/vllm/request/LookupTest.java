package io.orbitkv.adapter.vllm.request;

import static io.orbitkv.adapter.vllm.request.Scheduler.BLOCK_TOKENS;
import static io.orbitkv.adapter.vllm.request.Scheduler.NO_HASHES;
import static io.orbitkv.adapter.vllm.request.Scheduler.chain;
import static io.orbitkv.adapter.vllm.request.Scheduler.part;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Matched;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Standing;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a scheduler is told when it asks. */
class LookupTest {

  private static final Matched NONE = new Matched(Standing.NONE, 0);
  private static final Matched DEFER = new Matched(Standing.DEFER, 0);

  private final Scheduler scheduler = new Scheduler();
  private final FakeQuestions cache = scheduler.cache;

  private static Matched hit(int blocks) {
    return new Matched(Standing.HIT, blocks * BLOCK_TOKENS);
  }

  @AfterEach
  void nothingIsHeldInTheEnd() {
    scheduler.requests.close();
    assertThat(cache.heldNow()).isZero();
    assertThat(cache.underWay()).isZero();
  }

  @Test
  void nothingStored_isNone() {
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(NONE);
    assertThat(scheduler.count("missed_not_stored")).isEqualTo(1);
  }

  @Test
  void blocksBehindTheEnginesOwn_areAHit() {
    cache.inMemory = 3;
    assertThat(scheduler.lookup("a", 1, chain(1, 5))).isEqualTo(hit(2));
    assertThat(cache.asked.getFirst().chain).isEqualTo(chain(1, 5));
  }

  @Test
  void engineThatHasAsMuchItself_isAskedForNothing() {
    cache.inMemory = 3;
    assertThat(scheduler.lookup("a", 3, chain(1, 3))).isEqualTo(NONE);
    assertThat(cache.asked).isEmpty();
    assertThat(scheduler.lookup("a", 3, 5 * BLOCK_TOKENS, 3, part(1, 3, 5))).isEqualTo(NONE);
    assertThat(cache.heldNow()).as("a lease that is worth nothing").isZero();
  }

  @Test
  void tokensThatMayNotBeAnsweredFor_areNot() {
    cache.inMemory = 5;
    assertThat(scheduler.lookup("a", 0, 3 * BLOCK_TOKENS + 1, 0, chain(1, 5))).isEqualTo(hit(3));
    assertThat(scheduler.lookup("a", 0, 2 * BLOCK_TOKENS, 5, NO_HASHES)).isEqualTo(hit(2));
    assertThat(scheduler.lookup("b", 0, BLOCK_TOKENS - 1, 0, chain(2, 5))).isEqualTo(NONE);
  }

  @Test
  void askedAgain_isAnsweredFromTheLease() {
    cache.inMemory = 4;
    assertThat(scheduler.lookup("a", 0, chain(1, 4))).isEqualTo(hit(4));
    assertThat(scheduler.lookup("a", 0, chain(1, 4))).isEqualTo(hit(4));
    assertThat(scheduler.lookup("a", 2, chain(1, 4))).isEqualTo(hit(2));
    assertThat(scheduler.lookup("a", 1, chain(1, 4))).isEqualTo(hit(3));
    assertThat(cache.asked).hasSize(1);
  }

  @Test
  void leaseThatTheEngineHasOvertaken_isReleased() {
    cache.inMemory = 2;
    scheduler.lookup("a", 0, chain(1, 4));
    assertThat(scheduler.lookup("a", 2, chain(1, 4))).isEqualTo(NONE);
    assertThat(cache.heldNow()).isZero();
  }

  @Test
  void blocksOnTheSsd_areDeferredUntilTheyAreRead() {
    cache.inMemory = 1;
    cache.onSsd = 2;
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(DEFER);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(DEFER);
    cache.isRead = true;
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(hit(3));
    assertThat(cache.asked).hasSize(1);
    assertThat(scheduler.count("deferrals")).isEqualTo(1);
  }

  @Test
  void deferralThatTakesTooLong_takesWhatIsInMemory() {
    cache.inMemory = 1;
    cache.onSsd = 2;
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.now.addAndGet(Scheduler.DEFER_NANOS - 1);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(DEFER);
    scheduler.now.addAndGet(1);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(hit(1));
  }

  @Test
  void deferralThatTakesTooLong_withNothingInMemory_isNone() {
    cache.onSsd = 2;
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.now.addAndGet(Scheduler.DEFER_NANOS);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(NONE);
  }

  @Test
  void cacheThatHangs_isNoneWhenTheDeferralIsOver() {
    cache.hangs = true;
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(DEFER);
    scheduler.now.addAndGet(Scheduler.DEFER_NANOS);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(NONE);
    assertThat(cache.underWay()).isZero();
    assertThat(scheduler.count("missed_deferred_too_long")).isEqualTo(1);
  }

  @Test
  void requestIsDeferredOnlySoLongInAll_howeverOftenItIsAsked() {
    cache.onSsd = 2;
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.now.addAndGet(Scheduler.DEFER_NANOS);
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.now.addAndGet(Inquiry.MISS_NANOS);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).as("a new query, and no time left").isEqualTo(NONE);
    assertThat(cache.asked).hasSize(2);
    assertThat(scheduler.count("deferrals")).isEqualTo(1);
  }

  @Test
  void engineThatMayNotBeDeferred_isNeverDeferred() {
    Scheduler hasty = new Scheduler(0, true, RequestLimits.DEFAULT);
    hasty.cache.inMemory = 1;
    hasty.cache.onSsd = 2;
    assertThat(hasty.lookup("a", 0, chain(1, 3))).isEqualTo(hit(1));
    hasty.cache.hangs = true;
    assertThat(hasty.lookup("b", 0, chain(2, 3))).isEqualTo(NONE);
  }

  @Test
  void missIsRemembered_butNotForLong() {
    scheduler.lookup("a", 0, chain(1, 3));
    cache.inMemory = 3;
    scheduler.now.addAndGet(Inquiry.MISS_NANOS - 1);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(NONE);
    assertThat(cache.asked).hasSize(1);
    assertThat(scheduler.lookup("b", 0, chain(1, 3))).as("another request").isEqualTo(hit(3));
    scheduler.now.addAndGet(1);
    assertThat(scheduler.lookup("a", 0, chain(1, 3))).isEqualTo(hit(3));
  }

  @Test
  void hashes_areSentOnce() {
    cache.inMemory = 3;
    scheduler.lookup("a", 0, 9, 0, chain(1, 2));
    assertThat(scheduler.lookup("a", 0, 13, 2, part(1, 2, 3))).as("the lease is of two").isEqualTo(hit(2));
    scheduler.allocate("a", 0, 10, 11, 12, 13);
    scheduler.preempt("a");
    assertThat(scheduler.lookup("a", 0, 13, 3, NO_HASHES)).isEqualTo(hit(3));
    assertThat(cache.asked.getLast().chain).isEqualTo(chain(1, 3));
  }

  @Test
  void requestWhoseBeginningIsNotKnown_isComputed() {
    cache.inMemory = 3;
    assertThat(scheduler.lookup("a", 0, 13, 2, part(1, 2, 3))).isEqualTo(NONE);
    assertThat(cache.asked).isEmpty();
    assertThat(scheduler.count("requests")).isZero();
  }

  @Test
  void hashesThatContradictThemselves_endWhatIsKnownOfTheRequest() {
    cache.inMemory = 3;
    scheduler.lookup("a", 0, chain(1, 3));
    assertThat(scheduler.lookup("a", 0, chain(2, 3))).isEqualTo(NONE);
    assertThat(cache.heldNow()).as("a lease of other tokens").isZero();
    assertThat(scheduler.lookup("a", 0, chain(2, 3))).as("as a new request").isEqualTo(hit(3));
  }

  @Test
  void lookupOfARequestThatHasPages_saysThatItLostThem() {
    scheduler.advance("a", 2 * BLOCK_TOKENS, 0, chain(1, 2), 0, 7, 8);
    cache.inMemory = 2;
    assertThat(scheduler.lookup("a", 0, 9, 2, NO_HASHES)).isEqualTo(hit(2));
    scheduler.allocate("a", 0, 20, 21, 22);
    assertThat(scheduler.advance("a", 3 * BLOCK_TOKENS, 2, part(1, 2, 3), 2, 22).saves()).singleElement()
        .satisfies(save -> {
          assertThat(save.firstBlock()).as("those before are stored").isEqualTo(2);
          assertThat(save.pages()).containsExactly(22);
        });
  }

  @Test
  void requestsBeyondTheTable_areComputed() {
    cache.inMemory = 3;
    Scheduler small = new Scheduler(0, true, new RequestLimits(2, 7, 256, 512, 256));
    small.cache.inMemory = 3;
    assertThat(small.lookup("a", 0, chain(1, 3))).isEqualTo(hit(3));
    assertThat(small.lookup("b", 0, chain(2, 5))).as("too many hashes").isEqualTo(NONE);
    assertThat(small.lookup("c", 0, chain(3, 4))).isEqualTo(hit(3));
    assertThat(small.lookup("d", 0, NO_HASHES)).as("too many requests").isEqualTo(NONE);
    assertThat(small.count("table_full")).isEqualTo(2);
    small.finish("a");
    assertThat(small.lookup("d", 0, chain(4, 3))).isEqualTo(hit(3));
  }

  @Test
  void loadsBeyondTheBound_areComputed() {
    Scheduler small = new Scheduler(0, true, new RequestLimits(8, 100, 1, 512, 256));
    small.cache.inMemory = 3;
    small.lookup("a", 0, chain(1, 3));
    small.lookup("b", 0, chain(2, 3));
    small.allocate("a", 3 * BLOCK_TOKENS, 0, 1, 2, 3);
    assertThat(small.lookup("b", 0, chain(2, 3))).isEqualTo(NONE);
    assertThat(small.cache.heldNow()).as("that of the load").isEqualTo(1);
    small.loadEnded("a", true);
    assertThat(small.lookup("b", 0, chain(2, 3))).isEqualTo(hit(3));
  }
}
