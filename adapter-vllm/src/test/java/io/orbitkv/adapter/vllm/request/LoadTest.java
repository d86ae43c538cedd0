package io.orbitkv.adapter.vllm.request;

import static io.orbitkv.adapter.vllm.request.Scheduler.BLOCK_TOKENS;
import static io.orbitkv.adapter.vllm.request.Scheduler.NO_HASHES;
import static io.orbitkv.adapter.vllm.request.Scheduler.chain;
import static io.orbitkv.adapter.vllm.request.Scheduler.part;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Standing;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is loaded, and when leases end. Request "a" has a hit of three blocks, one of which the engine has itself. */
class LoadTest {

  private static final int EXTERNAL = 2 * BLOCK_TOKENS;

  private final Scheduler scheduler = new Scheduler();
  private final FakeQuestions cache = scheduler.cache;

  @BeforeEach
  void lookUp() {
    cache.inMemory = 3;
    assertThat(scheduler.lookup("a", 1, chain(1, 4)).tokens()).isEqualTo(EXTERNAL);
  }

  @AfterEach
  void nothingIsHeldInTheEnd() {
    scheduler.requests.close();
    assertThat(cache.heldNow()).isZero();
  }

  private void startLoad() {
    assertThat(scheduler.allocate("a", EXTERNAL, 10, 11, 12, 13, 14).loads()).hasSize(1);
  }

  private void assertNeverLoadedAgain() {
    scheduler.now.addAndGet(2 * Inquiry.MISS_NANOS);
    assertThat(scheduler.lookup("a", 0, 17, 4, NO_HASHES).standing()).isEqualTo(Standing.NONE);
    scheduler.preempt("a");
    assertThat(scheduler.lookup("a", 0, 17, 4, NO_HASHES).standing()).isEqualTo(Standing.NONE);
    assertThat(cache.heldNow()).isZero();
  }

  @Test
  void allocatedRequest_isLoadedIntoItsPages() {
    SchedulerReply.Plan plan = scheduler.allocate("a", EXTERNAL, 10, 11, 12, 13, 14);
    assertThat(plan.loads()).singleElement().satisfies(load -> {
      assertThat(load.request()).isEqualTo("a");
      assertThat(load.lease()).isEqualTo(1);
      assertThat(load.firstBlock()).isEqualTo(1);
      assertThat(load.pages()).containsExactly(11, 12);
    });
    assertThat(cache.heldNow()).as("until workers have read it").isEqualTo(1);
    scheduler.loadEnded("a", true);
    assertThat(cache.heldNow()).isZero();
    assertThat(scheduler.count("loaded_blocks")).isEqualTo(2);
    assertThat(scheduler.count("loaded_bytes")).isEqualTo(2 * Scheduler.BLOCK_BYTES);
    assertThat(scheduler.count("queried_tokens")).isEqualTo(13);
    assertThat(scheduler.count("hit_tokens")).isEqualTo(EXTERNAL);
  }

  @Test
  void loadedRequest_goesOnWithoutAnotherLoad() {
    startLoad();
    // The report, and the second call for the same request, come in one step.
    Scheduler.Step step = scheduler.new Step();
    step.loadsEnded.add(new SchedulerRequest.LoadEnded("a", true));
    SchedulerReply.Plan plan = step.allocate("a", 0, 10, 11, 12, 13, 14)
        .advance("a", 4 * BLOCK_TOKENS, 4, NO_HASHES, 5).plan();
    assertThat(plan.loads()).isEmpty();
    assertThat(plan.saves()).singleElement().satisfies(save -> {
      assertThat(save.firstBlock()).isEqualTo(3);
      assertThat(save.pages()).containsExactly(13);
      assertThat(save.hashes()).isEqualTo(chain(1, 4));
    });
    assertThat(scheduler.count("queried_tokens")).as("counted when it was admitted").isEqualTo(13);
  }

  @Test
  void allocationThatFails_leavesTheLeaseToTheNextLookup() {
    assertThat(scheduler.lookup("a", 1, 17, 4, NO_HASHES).tokens()).isEqualTo(EXTERNAL);
    assertThat(scheduler.lookup("a", 2, 17, 4, NO_HASHES).tokens()).isEqualTo(BLOCK_TOKENS);
    assertThat(scheduler.allocate("a", BLOCK_TOKENS, 10, 11, 12, 13, 14).loads()).singleElement()
        .satisfies(load -> assertThat(load.firstBlock()).isEqualTo(2));
  }

  @Test
  void engineThatLoadsLess_isGivenLess() {
    assertThat(scheduler.allocate("a", BLOCK_TOKENS, 10, 11, 12, 13, 14).loads()).singleElement()
        .satisfies(load -> assertThat(load.pages()).containsExactly(11));
  }

  @Test
  void engineThatLoadsNothing_endsTheLease() {
    assertThat(scheduler.allocate("a", 0, 10, 11, 12, 13, 14).loads()).isEmpty();
    assertThat(cache.heldNow()).isZero();
    assertThat(scheduler.count("queried_tokens")).isEqualTo(13);
    assertThat(scheduler.count("hit_tokens")).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {3 * BLOCK_TOKENS, BLOCK_TOKENS + 1})
  void otherTokensThanWereAnswered_areNotLoaded(int external) {
    assertThat(scheduler.allocate("a", external, 10, 11, 12, 13, 14).loads()).isEmpty();
    assertThat(scheduler.count("loads_failed")).isEqualTo(1);
    assertNeverLoadedAgain();
  }

  @Test
  void pagesThatAreTooFew_areNotLoadedInto() {
    assertThat(scheduler.allocate("a", EXTERNAL, 10, 11).loads()).isEmpty();
    assertNeverLoadedAgain();
  }

  @Test
  void requestThatIsNotKnown_isNotLoaded() {
    assertThat(scheduler.allocate("b", EXTERNAL, 10, 11, 12, 13).loads()).isEmpty();
    scheduler.loadEnded("b", false);
    scheduler.loadEnded("c", true);
    assertThat(scheduler.count("loads_under_way")).isZero();
  }

  @Test
  void loadThatFailed_isNotTriedAgain_andItsBlocksAreSaved() {
    startLoad();
    scheduler.loadEnded("a", false);
    assertThat(scheduler.count("loads_failed")).isEqualTo(1);
    assertNeverLoadedAgain();
    scheduler.allocate("a", 0, 20, 21, 22, 23, 24);
    assertThat(scheduler.advance("a", 4 * BLOCK_TOKENS, 4, NO_HASHES, 5).saves()).singleElement()
        .satisfies(save -> assertThat(save.pages()).containsExactly(20, 21, 22, 23));
  }

  @Test
  void engineThatAsksBeforeItTellsOfTheFailure_isAnsweredNone() {
    startLoad();
    assertThat(scheduler.lookup("a", 1, 17, 4, NO_HASHES).standing()).isEqualTo(Standing.NONE);
    Scheduler.Step step = scheduler.new Step();
    step.loadsEnded.add(new SchedulerRequest.LoadEnded("a", false));
    step.allocate("a", 0, 20, 21, 22, 23, 24).plan();
    assertThat(cache.heldNow()).isZero();
    assertNeverLoadedAgain();
  }

  @Test
  void abortWhileLeased_endsTheLease() {
    scheduler.finish("a");
    assertThat(cache.heldNow()).isZero();
    assertThat(scheduler.count("requests")).isZero();
  }

  @Test
  void abortWhileDeferred_endsTheQuery() {
    cache.onSsd = 1;
    assertThat(scheduler.lookup("b", 0, chain(2, 4)).standing()).isEqualTo(Standing.DEFER);
    scheduler.finish("b");
    assertThat(cache.underWay()).isZero();
  }

  @Test
  void abortWhileLoading_keepsTheLeaseUntilTheReport() {
    startLoad();
    scheduler.finish("a");
    assertThat(cache.heldNow()).isEqualTo(1);
    assertThat(scheduler.count("loads_under_way")).isEqualTo(1);
    assertThat(scheduler.lookup("a", 0, chain(9, 4)).standing()).as("a request of the same name")
        .isEqualTo(Standing.NONE);
    scheduler.loadEnded("a", true);
    assertThat(cache.heldNow()).isZero();
    assertThat(scheduler.count("loads_under_way")).isZero();
    assertThat(scheduler.lookup("a", 0, chain(9, 4)).standing()).isEqualTo(Standing.HIT);
  }

  @Test
  void reportThatComesTwice_isTakenOnce() {
    startLoad();
    scheduler.loadEnded("a", true);
    scheduler.loadEnded("a", true);
    scheduler.loadEnded("a", false);
    assertThat(scheduler.count("loads_under_way")).isZero();
    assertThat(scheduler.count("loaded_blocks")).isEqualTo(2);
    assertThat(scheduler.count("loads_failed")).isZero();
  }

  @Test
  void preemptionWhileLoading_changesNothingUntilTheReport() {
    startLoad();
    scheduler.preempt("a");
    assertThat(cache.heldNow()).isEqualTo(1);
    scheduler.loadEnded("a", true);
    assertThat(scheduler.advance("a", 4 * BLOCK_TOKENS, 4, NO_HASHES, 5).saves()).hasSize(1);
  }

  @Test
  void preemptionThatIsToldAfterALookup_endsNoLease() {
    Scheduler.Step step = scheduler.new Step();
    step.preempted.add("a");
    assertThat(step.allocate("a", EXTERNAL, 10, 11, 12, 13, 14).plan().loads()).hasSize(1);
  }

  @Test
  void whatIsSaidOfARequestThatIsLoading_waits() {
    startLoad();
    assertThat(scheduler.advance("a", 4 * BLOCK_TOKENS, 4, part(1, 4, 5), 5, 15).saves()).isEmpty();
    assertThat(scheduler.allocate("a", 0, 20, 21, 22, 23, 24).saves()).isEmpty();
    assertThat(scheduler.allocate("a", EXTERNAL, 20, 21, 22, 23, 24).loads()).isEmpty();
    assertThat(cache.heldNow()).isEqualTo(1);
  }

  @Test
  void closing_endsLeasesOfLoadsToo() {
    startLoad();
    scheduler.lookup("b", 0, chain(2, 4));
    scheduler.requests.close();
    assertThat(cache.heldNow()).isZero();
    assertThat(scheduler.count("requests")).isZero();
  }

  @Test
  void requestsThatShareAPrefix_holdItEach() {
    assertThat(scheduler.lookup("b", 0, chain(1, 4)).tokens()).isEqualTo(3 * BLOCK_TOKENS);
    assertThat(cache.heldNow()).isEqualTo(2);
    scheduler.finish("a");
    assertThat(cache.heldNow()).isEqualTo(1);
  }
}
