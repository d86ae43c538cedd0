package io.orbitkv.adapter.vllm.request;

import static io.orbitkv.adapter.vllm.request.Scheduler.BLOCK_TOKENS;
import static io.orbitkv.adapter.vllm.request.Scheduler.NO_HASHES;
import static io.orbitkv.adapter.vllm.request.Scheduler.chain;
import static io.orbitkv.adapter.vllm.request.Scheduler.part;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.api.PrefixChain;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is saved, and what is told about it. */
class SaveTest {

  private final Scheduler scheduler = new Scheduler();

  private static SchedulerReply.Save only(SchedulerReply.Plan plan) {
    assertThat(plan.saves()).hasSize(1);
    return plan.saves().getFirst();
  }

  private static void assertSave(SchedulerReply.Save save, int known, PrefixChain hashes, int first, int... pages) {
    assertThat(save.known()).as("known").isEqualTo(known);
    assertThat(save.hashes()).as("hashes").isEqualTo(hashes);
    assertThat(save.firstBlock()).as("first block").isEqualTo(first);
    assertThat(save.pages()).as("pages").containsExactly(pages);
  }

  @Test
  void completeBlocks_areSavedOnce() {
    scheduler.allocate("a", 0, 10, 11, 12, 13);
    SchedulerReply.Save first = only(scheduler.advance("a", 9, 0, chain(1, 3), 4));
    assertSave(first, 0, chain(1, 2), 0, 10, 11);
    assertThat(first.request()).isEqualTo("a");
    SchedulerReply.Save second = only(scheduler.advance("a", 13, 3, NO_HASHES, 4));
    assertSave(second, 2, part(1, 2, 3), 2, 12);
    assertThat(second.series()).isEqualTo(first.series()).isNotZero();
    assertThat(second.save()).isNotEqualTo(first.save());
    assertThat(scheduler.advance("a", 13, 3, NO_HASHES, 4).saves()).isEmpty();
  }

  @Test
  void blockWhoseLastTokenIsNotComputed_isNotSaved() {
    assertThat(scheduler.advance("a", 2 * BLOCK_TOKENS - 1, 0, chain(1, 3), 0, 10, 11, 12).saves()).singleElement()
        .satisfies(save -> assertThat(save.pages()).containsExactly(10));
  }

  @Test
  void blockWhoseHashIsNotKnown_isNotSaved() {
    assertSave(only(scheduler.advance("a", 100, 0, chain(1, 1), 0, 10, 11, 12)), 0, chain(1, 1), 0, 10);
  }

  @Test
  void blockWhosePageIsNotKnown_isNotSaved() {
    assertSave(only(scheduler.advance("a", 100, 0, chain(1, 3), 0, 10)), 0, chain(1, 1), 0, 10);
    assertThat(scheduler.advance("a", 100, 3, NO_HASHES, 2, 12).saves()).as("a gap").isEmpty();
    assertSave(only(scheduler.advance("a", 100, 3, NO_HASHES, 1, 11, 12)), 1, part(1, 1, 3), 1, 11, 12);
  }

  @Test
  void computedTokensThatAreNegative_saveNothing() {
    assertThat(scheduler.advance("a", -5, 0, chain(1, 3), 0, 10, 11, 12).saves()).isEmpty();
  }

  @Test
  void engineThatSavesNothing_isOrderedNothing() {
    Scheduler reader = new Scheduler(0, false, RequestLimits.DEFAULT);
    assertThat(reader.advance("a", 12, 0, chain(1, 3), 0, 10, 11, 12).saves()).isEmpty();
  }

  @Test
  void storedBlocksOfAHit_areNotSaved() {
    scheduler.cache.inMemory = 2;
    scheduler.lookup("a", 0, chain(1, 4));
    scheduler.allocate("a", 0, 10, 11, 12, 13);
    assertSave(only(scheduler.advance("a", 16, 4, NO_HASHES, 4)), 0, chain(1, 4), 2, 12, 13);
  }

  @Test
  void blocksThatTheEngineHadItself_areSavedToo() {
    scheduler.lookup("a", 2, chain(1, 3));
    scheduler.allocate("a", 0, 10, 11, 12);
    assertSave(only(scheduler.advance("a", 12, 3, NO_HASHES, 3)), 0, chain(1, 3), 0, 10, 11, 12);
  }

  @Test
  void endedSave_isToldAsStoredIfAllRanksHaveAllOfIt() {
    SchedulerReply.Save whole = only(scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11));
    SchedulerReply.Save part = only(scheduler.advance("b", 8, 0, chain(2, 2), 0, 12, 13));
    assertThat(scheduler.saveEnded(whole.save(), 2).stored()).containsExactly(whole.save());
    assertThat(scheduler.saveEnded(part.save(), 1).stored()).isEmpty();
    assertThat(scheduler.saveEnded(whole.save(), 2).stored()).as("told once").isEmpty();
    assertThat(scheduler.saveEnded(4711, 2).stored()).as("ordered by another start").isEmpty();
    assertThat(scheduler.count("saved_blocks")).isEqualTo(3);
    assertThat(scheduler.count("saved_bytes")).isEqualTo(3 * Scheduler.BLOCK_BYTES);
    assertThat(scheduler.count("saves_under_way")).isZero();
  }

  @Test
  void countThatMakesNoSense_isTakenForTheNearestThatDoes() {
    SchedulerReply.Save save = only(scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11));
    assertThat(scheduler.saveEnded(save.save(), Integer.MAX_VALUE).stored()).containsExactly(save.save());
    SchedulerReply.Save next = only(scheduler.advance("a", 12, 2, part(1, 2, 3), 2, 12));
    assertThat(scheduler.saveEnded(next.save(), -1).stored()).isEmpty();
    assertThat(scheduler.count("saved_blocks")).isEqualTo(2);
  }

  @Test
  void seriesEnds_whenTheRequestIsFinishedAndItsLastSaveReported() {
    SchedulerReply.Save first = only(scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11));
    SchedulerReply.Save second = only(scheduler.advance("a", 12, 2, part(1, 2, 3), 2, 12));
    assertThat(scheduler.finish("a").endedSeries()).isEmpty();
    assertThat(scheduler.saveEnded(second.save(), 1).endedSeries()).isEmpty();
    assertThat(scheduler.saveEnded(first.save(), 2).endedSeries()).containsExactly(first.series());
  }

  @Test
  void seriesEndsAtOnce_whenNothingIsUnderWay() {
    SchedulerReply.Save save = only(scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11));
    scheduler.saveEnded(save.save(), 2);
    assertThat(scheduler.finish("a").endedSeries()).containsExactly(save.series());
    assertThat(scheduler.finish("b").endedSeries()).as("no save, no series").isEmpty();
  }

  @Test
  void seriesOfARequestThatIsNotWhatItWas_endsWithTheNextPlan() {
    SchedulerReply.Save save = only(scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11));
    scheduler.saveEnded(save.save(), 2);
    scheduler.lookup("a", 0, chain(2, 3));
    assertThat(scheduler.finish("b").endedSeries()).containsExactly(save.series());
  }

  @Test
  void preemptedRequest_isSavedFromItsNewPages() {
    SchedulerReply.Save before = only(scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11));
    scheduler.preempt("a");
    scheduler.lookup("a", 0, 13, 2, part(1, 2, 3));
    scheduler.allocate("a", 0, 20, 21, 22);
    SchedulerReply.Save after = only(scheduler.advance("a", 8, 3, NO_HASHES, 3));
    assertSave(after, 2, NO_HASHES, 0, 20, 21);
    assertThat(after.series()).isEqualTo(before.series());
    assertSave(only(scheduler.advance("a", 12, 3, NO_HASHES, 3)), 2, part(1, 2, 3), 2, 22);
  }

  @Test
  void preemptedRequestThatHasFewerBlocksAtFirst_statesTheOthersAgain() {
    only(scheduler.advance("a", 12, 0, chain(1, 3), 0, 10, 11, 12));
    scheduler.preempt("a");
    scheduler.allocate("a", 0, 20, 21, 22);
    assertSave(only(scheduler.advance("a", 4, 3, NO_HASHES, 3)), 1, NO_HASHES, 0, 20);
    assertSave(only(scheduler.advance("a", 12, 3, NO_HASHES, 3)), 1, part(1, 1, 3), 1, 21, 22);
  }

  @Test
  void requestThatGetsPagesAgain_hasLostThoseOfBefore() {
    only(scheduler.advance("a", 8, 0, chain(1, 2), 0, 10, 11));
    scheduler.allocate("a", 0, 20, 21, 22);
    assertSave(only(scheduler.advance("a", 8, 2, NO_HASHES, 3)), 2, NO_HASHES, 0, 20, 21);
  }

  @Test
  void pagesOfBeforeAPreemption_areNotSaved() {
    scheduler.allocate("a", 0, 10, 11, 12);
    scheduler.preempt("a");
    assertThat(scheduler.advance("a", 12, 0, chain(1, 3), 3).saves()).isEmpty();
  }

  @Test
  void longPrefill_isSavedInParts() {
    int[] pages = IntStream.range(0, 600).toArray();
    List<SchedulerReply.Save> saves = scheduler.advance("a", 600 * BLOCK_TOKENS, 0, chain(1, 600), 0, pages).saves();
    assertThat(saves).extracting(save -> save.pages().length).containsExactly(256, 256, 88);
    assertSave(saves.get(1), 256, part(1, 256, 512), 256, IntStream.range(256, 512).toArray());
  }

  @Test
  void savesBeyondTheBound_arePutOff() {
    Scheduler small = new Scheduler(0, true, new RequestLimits(8, 100, 256, 2, 1));
    List<SchedulerReply.Save> saves = small.advance("a", 12, 0, chain(1, 3), 0, 10, 11, 12).saves();
    assertThat(saves).hasSize(2);
    assertThat(small.count("saves_postponed")).isEqualTo(1);
    SchedulerReply.Save third = only(small.saveEnded(saves.getFirst().save(), 1));
    assertSave(third, 2, part(1, 2, 3), 2, 12);
    assertThat(small.advance("a", 16, 3, part(1, 3, 4), 3, 13).saves()).isEmpty();
    assertSave(only(small.saveEnded(third.save(), 1)), 3, part(1, 3, 4), 3, 13);
  }

  @Test
  void blocksWithoutRoom_areSavedInLaterSteps() {
    Scheduler.Step step = scheduler.new Step().advance("a", 20, 0, chain(1, 5), 0, 10, 11, 12, 13, 14);
    assertSave(only(step.room(2).plan()), 0, chain(1, 2), 0, 10, 11);
    assertThat(scheduler.new Step().room(0).plan().saves()).isEmpty();
    assertSave(only(scheduler.new Step().room(1).plan()), 2, part(1, 2, 3), 2, 12);
    assertSave(only(scheduler.new Step().room(9).plan()), 3, part(1, 3, 5), 3, 13, 14);
    assertThat(scheduler.new Step().room(9).plan().saves()).isEmpty();
    assertThat(scheduler.count("saves_postponed")).isEqualTo(3);
  }

  @Test
  void requestThatHasWaitedLongest_isSavedFirst() {
    scheduler.new Step().advance("a", 8, 0, chain(1, 2), 0, 10, 11).room(0).plan();
    scheduler.new Step().advance("b", 8, 0, chain(2, 2), 0, 20, 21).room(0).plan();
    assertThat(scheduler.new Step().advance("a", 12, 2, part(1, 2, 3), 2, 12).room(4).plan().saves())
        .extracting(SchedulerReply.Save::request, save -> save.pages().length)
        .containsExactly(tuple("a", 3), tuple("b", 1));
  }

  @Test
  void blocksThatWaitForRoom_areGivenUpWithTheirPages() {
    scheduler.new Step().advance("a", 8, 0, chain(1, 2), 0, 10, 11).room(0).plan();
    scheduler.new Step().advance("b", 8, 0, chain(2, 2), 0, 20, 21).room(0).plan();
    Scheduler.Step step = scheduler.new Step().room(0);
    step.preempted.add("a");
    step.finished.add("b");
    step.plan();
    assertThat(scheduler.count("unsaved_blocks")).isEqualTo(2);
    assertThat(scheduler.new Step().plan().saves()).isEmpty();
    scheduler.allocate("a", 0, 30, 31);
    assertSave(only(scheduler.advance("a", 8, 2, NO_HASHES, 2)), 0, chain(1, 2), 0, 30, 31);
  }

  @Test
  void roomThatMakesNoSense_isNone() {
    assertThat(scheduler.new Step().advance("a", 8, 0, chain(1, 2), 0, 10, 11).room(-7).plan().saves()).isEmpty();
  }

  @Test
  void numbersOfTwoStarts_differ() {
    SchedulerReply.Save one = only(scheduler.advance("a", 4, 0, chain(1, 1), 0, 10));
    SchedulerReply.Save other = only(new Scheduler().advance("a", 4, 0, chain(1, 1), 0, 10));
    assertThat(List.of(one.save(), one.series())).doesNotContain(other.save(), other.series());
  }

  @Test
  void requestThatIsKnownFromItsMiddle_isNotSaved() {
    assertThat(scheduler.advance("a", 12, 2, part(1, 2, 3), 2, 12).saves()).isEmpty();
    assertThat(scheduler.count("requests")).isZero();
  }
}
