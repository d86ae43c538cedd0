package io.orbitkv.adapter.vllm.request;

import static io.orbitkv.adapter.vllm.request.Scheduler.NO_HASHES;
import static io.orbitkv.adapter.vllm.request.Scheduler.chain;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import org.junit.jupiter.api.Test;

/** Pages that another connector of the engine brings, as NIXL does on decode. */
class TransferTest {

  private final Scheduler scheduler = new Scheduler();

  @Test
  void pagesThatATransportWritesTo_areNotSaved() {
    assertThat(scheduler.allocate("a", 0, 10, 11, 12).saves()).isEmpty();
    assertThat(scheduler.finish("a").saves()).as("aborted while the transport writes").isEmpty();
    assertThat(scheduler.count("requests")).isZero();
  }

  @Test
  void leaseOfARequestThatATransportBrings_isGivenUp() {
    scheduler.cache.inMemory = 2;
    scheduler.lookup("a", 0, chain(1, 3));
    assertThat(scheduler.cache.heldNow()).isOne();
    assertThat(scheduler.allocate("a", 0, 10, 11, 12).loads()).isEmpty();
    assertThat(scheduler.cache.heldNow()).isZero();
  }

  @Test
  void whatCame_isSavedOnceTheEngineCountsItAsComputed() {
    scheduler.allocate("a", 0, 10, 11, 12);
    scheduler.allocate("a", 0, 10, 11, 12);
    SchedulerReply.Plan plan = scheduler.advance("a", 12, 0, chain(1, 3), 3);
    assertThat(plan.saves()).singleElement()
        .satisfies(save -> assertThat(save.pages()).containsExactly(10, 11, 12));
  }

  @Test
  void pagesOfATransferThatFailed_areNotSavedWhenTheRequestGetsOthers() {
    scheduler.allocate("a", 0, 10, 11, 12);
    scheduler.lookup("a", 0, chain(1, 3));
    scheduler.allocate("a", 0, 20, 21, 22);
    SchedulerReply.Plan plan = scheduler.advance("a", 12, 3, NO_HASHES, 3);
    assertThat(plan.saves()).singleElement()
        .satisfies(save -> assertThat(save.pages()).containsExactly(20, 21, 22));
  }

  @Test
  void whatCameAcrossAReset_isNotSaved() {
    scheduler.allocate("a", 0, 10, 11);
    assertThat(scheduler.requests.reset()).isTrue();
    scheduler.allocate("a", 0, 10, 11, 12);
    assertThat(scheduler.advance("a", 12, 0, chain(1, 3), 3).saves()).isEmpty();
    scheduler.allocate("a", 0, 20, 21, 22);
    assertThat(scheduler.advance("a", 12, 3, NO_HASHES, 3).saves()).as("computed anew").hasSize(1);
  }

  @Test
  void requestThatIsToldOnlyWhenItHasFinished_isSavedThenAndDrained() {
    scheduler.allocate("a", 0, 10, 11, 12);
    SchedulerReply.Save save = scheduler.advance("a", 12, 0, chain(1, 3), 3).saves().getFirst();
    assertThat(scheduler.finish("a").endedSeries()).as("its save goes on").isEmpty();
    assertThat(scheduler.saveEnded(save.save(), 3).endedSeries()).containsExactly(save.series());
    assertThat(scheduler.count("saves_under_way")).isZero();
  }
}
