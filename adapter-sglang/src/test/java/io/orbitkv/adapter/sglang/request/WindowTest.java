package io.orbitkv.adapter.sglang.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.sglang.protocol.LinkerReply.Matched;
import io.orbitkv.adapter.sglang.protocol.LinkerReply.Standing;
import io.orbitkv.adapter.sglang.protocol.LinkerRequest.GiveUp;
import io.orbitkv.adapter.sglang.protocol.LinkerRequest.Lookup;
import io.orbitkv.api.PrefixChain;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** A hit is as long as a prefix that ends with a whole sliding window, and both are held or neither. */
class WindowTest {

  private static final int WINDOW = 4;
  private static final long PENDING_NANOS = 1_000_000_000;
  private static final PrefixChain CHAIN = PrefixChain.ofTokens(IntStream.range(0, 2000).toArray(), 1);

  private final FakeQuestions prefixes = new FakeQuestions();
  private final FakeWindow blocks = new FakeWindow(CHAIN);
  private long now = 5;
  private final Requests requests =
      new Requests(prefixes, Optional.of(new SlidingWindow(blocks, WINDOW)), PENDING_NANOS, () -> now);

  private Matched look(int rank, int own) {
    return requests.matched(rank, new Lookup("a", own, CHAIN.hash(CHAIN.blocks() - 1), CHAIN));
  }

  private void stored(int from, int to) {
    IntStream.range(from, to).forEach(blocks.inMemory::add);
  }

  private static Matched hit(int behind, long lease, int from, int to) {
    return new Matched(Standing.HIT, behind, lease, LongStream.range(from, to).mapToObj(each -> 100 + each).toList());
  }

  private void assertNothingIsHeld() {
    assertThat(prefixes.heldNow()).isZero();
    assertThat(blocks.heldNow).isZero();
    assertThat(prefixes.underWay()).isZero();
    assertThat(blocks.underWay).isZero();
  }

  @Test
  void windowAtTheEnd_isHeldBesideThePrefix() {
    prefixes.inMemory = 10;
    stored(0, 10);
    assertThat(look(0, 2)).isEqualTo(hit(8, 1, 6, 10));
    assertThat(look(1, 2)).isEqualTo(hit(8, 1, 6, 10));
    assertThat(blocks.heldNow).isEqualTo(WINDOW);
    assertThat(blocks.asked).isEqualTo(WINDOW);
    requests.giveUp(0, new GiveUp("a", 1));
    assertThat(blocks.heldNow).isEqualTo(WINDOW);
    requests.giveUp(1, new GiveUp("a", 1));
    assertNothingIsHeld();
  }

  @Test
  void promptShorterThanTheWindow_needsAllItsBlocks() {
    prefixes.inMemory = 3;
    stored(0, 3);
    assertThat(look(0, 0)).isEqualTo(hit(3, 1, 0, 3));
  }

  @Test
  void ofTheWindow_onlyWhatTheEngineHasNotItselfIsAsked() {
    prefixes.inMemory = 10;
    stored(8, 10);
    assertThat(look(0, 8)).isEqualTo(hit(2, 1, 8, 10));
    assertThat(blocks.asked).isEqualTo(2);
  }

  @Test
  void missingBlock_cutsTheHitToTheLastWholeWindowBeforeIt() {
    prefixes.inMemory = 12;
    stored(2, 12);
    blocks.inMemory.remove(9);
    assertThat(look(0, 1)).isEqualTo(hit(8, 1, 5, 9));
    assertThat(requests.counters()).containsEntry("hit_blocks", 9L).containsEntry("cut_blocks", 3L);
    assertThat(blocks.underWay).isZero();
  }

  @Test
  void noWholeWindow_isAMissAndHoldsNothing() {
    prefixes.inMemory = 12;
    blocks.inMemory.addAll(List.of(11, 10, 9, 7, 6, 5, 3, 2, 1));
    assertThat(look(0, 0).standing()).isEqualTo(Standing.NONE);
    assertThat(requests.counters()).containsEntry("missed_no_window", 1L).containsEntry("hits", 0L);
    assertNothingIsHeld();
  }

  @Test
  void farWindow_isFoundWithOneQuestionAWindow() {
    prefixes.inMemory = 804;
    stored(400, 404);
    assertThat(look(0, 0)).isEqualTo(hit(404, 1, 400, 404));
    assertThat(blocks.asked).isEqualTo(400 / WINDOW + WINDOW);
  }

  @Test
  void windowTooFarOff_isNotSearchedFor() {
    prefixes.inMemory = 2000;
    stored(0, 4);
    assertThat(look(0, 0).standing()).isEqualTo(Standing.NONE);
    assertThat(blocks.asked).isEqualTo(WindowedQuestion.MAX_ASKED);
    assertNothingIsHeld();
  }

  @Test
  void blocksOnTheSsd_areWaitedForTogether() {
    prefixes.inMemory = 10;
    IntStream.range(6, 10).forEach(blocks.onSsd::add);
    blocks.inMemory.add(6);
    blocks.onSsd.remove(6);
    assertThat(look(0, 0).standing()).isEqualTo(Standing.PENDING);
    assertThat(blocks.underWay).isEqualTo(3);
    blocks.isRead = true;
    assertThat(look(1, 0)).isEqualTo(hit(10, 1, 6, 10));
  }

  @Test
  void blocksThatAreReadTooLong_countAsMissing() {
    prefixes.inMemory = 10;
    stored(0, 9);
    blocks.onSsd.add(9);
    assertThat(look(0, 0).standing()).isEqualTo(Standing.PENDING);
    now += PENDING_NANOS;
    assertThat(look(0, 0)).isEqualTo(hit(9, 1, 5, 9));
  }

  @Test
  void requestThatIsGivenUpInASearch_leavesNothing() {
    prefixes.inMemory = 10;
    stored(6, 9);
    blocks.onSsd.add(9);
    assertThat(look(0, 0).standing()).isEqualTo(Standing.PENDING);
    assertThat(prefixes.heldNow()).isOne();
    requests.giveUp(0, new GiveUp("a", 0));
    assertNothingIsHeld();
  }

  @Test
  void engineThatLosesBlocksOfItsOwn_isAnsweredAnew() {
    prefixes.inMemory = 10;
    stored(0, 10);
    assertThat(look(0, 8)).isEqualTo(hit(2, 1, 8, 10));
    assertThat(look(0, 9)).isEqualTo(hit(1, 1, 9, 10));
    assertThat(look(0, 3)).isEqualTo(hit(7, 2, 6, 10));
    assertThat(prefixes.heldNow()).isOne();
    assertThat(blocks.heldNow).isEqualTo(WINDOW);
  }

  @Test
  void whatIsFound_isTheLongestPrefixWithAWholeWindow() {
    Random random = new Random(3);
    for (int round = 0; round < 300; round++) {
      blocks.inMemory.clear();
      prefixes.inMemory = random.nextInt(1, 60);
      IntStream.range(0, 60).filter(_ -> random.nextInt(100) < 85).forEach(blocks.inMemory::add);
      int own = random.nextInt(0, 20);
      int end = longest(blocks.inMemory, own, prefixes.inMemory);
      Matched matched = look(0, own);
      if (end <= own) {
        assertThat(matched.standing()).isEqualTo(Standing.NONE);
      } else {
        assertThat(matched).isEqualTo(hit(end - own, matched.lease(), Math.max(own, end - WINDOW), end));
      }
      requests.giveUp(0, new GiveUp("a", 0));
      now += Requests.MISS_NANOS + Requests.MISSED_IDLE_NANOS;
      requests.counters();
      assertNothingIsHeld();
    }
  }

  private static int longest(Collection<Integer> there, int own, int prefix) {
    int end = prefix;
    while (end > own && !IntStream.range(Math.max(own, end - WINDOW), end).allMatch(there::contains)) {
      end--;
    }
    return end;
  }
}
