package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import io.orbitkv.core.lifecycle.SaveState;
import io.orbitkv.core.sim.SimStore;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class SavesTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  @Test
  void aBlock_isVisibleAfterItsLastRankCommitted() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 3);
      for (int rank : new int[] {2, 0}) {
        CoreSave save = bench.core.reserve(session, rank, CHAIN, 0, 4);
        assertThat(bench.fill(save, rank, CHAIN)).isEqualTo(4);
        assertThat(bench.hit(session, CHAIN)).isZero();
      }
      bench.fill(bench.core.reserve(session, 1, CHAIN, 0, 4), 1, CHAIN);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
      assertThat(bench.core.stats().blocksSaved()).isEqualTo(4);
    }
  }

  @Test
  void ranksOfOneBlock_shareItsExtent() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      CoreSave first = bench.core.reserve(session, 0, CHAIN, 0, 4);
      CoreSave second = bench.core.reserve(session, 1, CHAIN, 0, 4);
      assertThat(bench.pool.extents()).hasSize(4);
      for (int block = 0; block < 4; block++) {
        assertThat(second.shardAt(block) - first.shardAt(block)).isEqualTo(CoreBench.SHARD_BYTES);
      }
    }
  }

  @Test
  void blocksThatAreThere_areNotWantedAgain() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN.first(2));
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThat(save.wanted()).isEqualTo(2);
      assertThat(save.wants(1)).isFalse();
      assertThat(save.wants(2)).isTrue();
      assertThat(save.wants(4)).isFalse();
      assertThatThrownBy(() -> save.shardAt(1)).isInstanceOf(RefusedException.class).hasMessageContaining("block 1");
      bench.fill(save, 0, CHAIN);
      CoreSave again = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThat(again.wanted()).isZero();
      assertThat(again.stored()).isEqualTo(4);
      assertThat(bench.core.grants()).as("a save that wants nothing holds nothing").isZero();
      assertThat(bench.fill(again, 0, CHAIN)).isZero();
    }
  }

  @Test
  void blocksOnTheirWay_areNotWantedTwiceFromOneRank() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      CoreSave again = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThat(again.wanted()).as("of another request").isZero();
      assertThat(again.stored()).as("they may still be aborted").isZero();
      assertThat(bench.core.reserve(bench.attach(0, 2), 0, CHAIN, 0, 4).wanted()).as("of another instance").isZero();
      assertThat(bench.core.reserve(session, 1, CHAIN, 0, 4).wanted()).as("of another rank").isEqualTo(4);
      assertThat(save.wanted()).isEqualTo(4);
    }
  }

  @Test
  void instancesOfOneNamespace_completeOneAnothersBlocks() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession one = bench.attach(0, 2);
      CoreSession other = bench.attach(0, 2);
      bench.fill(bench.core.reserve(one, 0, CHAIN, 0, 4), 0, CHAIN);
      bench.fill(bench.core.reserve(other, 1, CHAIN, 0, 4), 1, CHAIN);
      assertThat(bench.hit(one, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void aBlockCommittedBeforeItsParent_waitsForIt() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSave above = bench.core.reserve(session, 0, CHAIN, 0, 2);
      CoreSave below = bench.core.reserve(session, 0, CHAIN, 2, 4);
      bench.fill(below, 0, CHAIN);
      bench.check();
      assertThat(bench.hit(session, CHAIN)).isZero();
      bench.fill(above, 0, CHAIN);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void aBlockWhoseParentIsAborted_isDropped() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSave above = bench.core.reserve(session, 0, CHAIN, 0, 2);
      CoreSave below = bench.core.reserve(session, 0, CHAIN, 2, 4);
      bench.fill(below, 0, CHAIN);
      bench.core.abort(above);
      bench.check();
      assertThat(bench.pool.allocatedBytes()).isZero();
      assertThat(bench.hit(session, CHAIN)).isZero();
    }
  }

  @Test
  void aWriterBelowAnAbortedParent_keepsItsMemoryUntilItEnds() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSave above = bench.core.reserve(session, 0, CHAIN, 0, 2);
      CoreSave below = bench.core.reserve(session, 0, CHAIN, 2, 4);
      bench.core.abort(above);
      bench.check();
      assertThat(bench.pool.allocatedBytes()).isEqualTo(2 * bench.recordBytes);
      // The names are free for others meanwhile, in other memory.
      CoreSave again = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThat(again.wanted()).isEqualTo(4);
      assertThat(again.shardAt(2)).isNotEqualTo(below.shardAt(2));
      assertThat(bench.fill(below, 0, CHAIN)).isEqualTo(2);
      assertThat(bench.hit(session, CHAIN)).as("what a grant of dropped blocks commits is not visible").isZero();
      bench.fill(again, 0, CHAIN);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void aBlockLeftOut_endsTheChainThere() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      int committed = bench.core.commit(save, new int[4], new boolean[] {true, false, true, true});
      assertThat(committed).isEqualTo(3);
      assertThat(bench.hit(session, CHAIN)).isOne();
      bench.check();
      assertThat(bench.pool.extents()).hasSize(1);
    }
  }

  @Test
  void aSaveUnderAMissingParent_wantsNothing() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      assertThat(bench.core.reserve(session, 0, CHAIN, 2, 4).wanted()).isZero();
      assertThat(bench.fault(Fault.SAVE_NO_PARENT)).isEqualTo(2);
      bench.save(session, CHAIN.first(1));
      assertThat(bench.core.reserve(session, 0, CHAIN, 2, 4).wanted()).isZero();
      assertThat(bench.core.reserve(session, 0, CHAIN, 1, 4).wanted()).isEqualTo(3);
    }
  }

  @Test
  void aSaveUnderAParentOnTheSsd_bringsTheParentIntoMemory() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      bench.store(session, CHAIN.first(2));
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 2, 4);
      assertThat(save.wanted()).isEqualTo(2);
      assertThat(bench.store.pending(SimStore.Kind.READ)).isEqualTo(2);
      bench.fill(save, 0, CHAIN);
      bench.check();
      assertThat(Inventory.resident(bench.core, session, CHAIN)).as("before the reads ended").isZero();
      bench.store.completeAll();
      assertThat(Inventory.resident(bench.core, session, CHAIN)).isEqualTo(4);
      assertThat(bench.core.isWritten()).isTrue();
    }
  }

  @Test
  void aSave_ofBlocksThatAreBeingLoaded_wantsNothing() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      bench.store(session, CHAIN);
      bench.core.query(session, CHAIN);
      assertThat(bench.core.reserve(session, 0, CHAIN, 0, 4).wanted()).isZero();
    }
  }

  @Test
  void aBlockWhoseRanksDoNotAllCommit_isDroppedAtItsDeadline() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.fill(bench.core.reserve(session, 0, CHAIN, 0, 4), 0, CHAIN);
      bench.passTime(CoreBench.FILL_LIFE - 1);
      assertThat(bench.pool.extents()).hasSize(4);
      bench.passTime(1);
      assertThat(bench.pool.extents()).isEmpty();
      assertThat(bench.fault(Fault.SAVE_INCOMPLETE)).isEqualTo(4);
    }
  }

  @Test
  void aWriterUnderWay_hasNoDeadline() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.fill(bench.core.reserve(session, 0, CHAIN, 0, 4), 0, CHAIN);
      CoreSave slow = bench.core.reserve(session, 1, CHAIN, 0, 4);
      bench.passTime(10 * CoreBench.FILL_LIFE);
      bench.fill(slow, 1, CHAIN);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void aRankThatAborted_canSaveAgain() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.fill(bench.core.reserve(session, 0, CHAIN, 0, 4), 0, CHAIN);
      bench.core.abort(bench.core.reserve(session, 1, CHAIN, 0, 4));
      CoreSave again = bench.core.reserve(session, 1, CHAIN, 0, 4);
      assertThat(again.wanted()).isEqualTo(4);
      bench.fill(again, 1, CHAIN);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void aSave_evictsWhatNobodyHolds_andStopsWhereMemoryEnds() {
    try (CoreBench bench = CoreBench.ofMemory(4)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN.first(2));
      CoreSave save = bench.core.reserve(session, 0, chain(9, 8, 7), 0, 3);
      assertThat(save.wanted()).isEqualTo(2);
      assertThat(save.wants(2)).isFalse();
      assertThat(bench.fault(Fault.SAVE_NO_MEMORY)).isOne();
      assertThat(lease.blocks()).isEqualTo(2);
      bench.fill(save, 0, chain(9, 8, 7));
      assertThat(bench.hit(session, chain(9, 8, 7))).isEqualTo(2);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(2);
    }
  }

  @Test
  void aSaveOverTheBound_wantsNothing_andIsNotKept() {
    CoreLimits limits = new CoreLimits(4096, 4096, Long.MAX_VALUE, 8, 8, 8, 8, 1, 4,
        Duration.ofNanos(100), Duration.ofNanos(100), Duration.ofNanos(100));
    try (CoreBench bench = CoreBench.ofMemory(8, limits)) {
      CoreSession session = bench.attach();
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 2);
      CoreSave over = bench.core.reserve(session, 0, chain(9), 0, 1);
      assertThat(over.wanted()).isZero();
      assertThat(bench.fault(Fault.SAVE_BUSY)).isOne();
      assertThat(bench.core.grants()).isOne();
      bench.fill(save, 0, CHAIN);
      bench.core.abort(over);
      assertThat(bench.core.reserve(session, 0, chain(9), 0, 1).wanted()).isOne();
    }
  }

  @Test
  void aSessionThatSavesAllItMay_saysSo_andLeavesOthersTheirs() {
    CoreLimits limits = CoreLimits.of(8 * 4096).withSessionFillBytes(2 * 4096);
    try (CoreBench bench = CoreBench.ofMemory(8, limits)) {
      CoreSession session = bench.attach();
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThat(save.wanted()).isEqualTo(2);
      assertThat(bench.fault(Fault.SAVE_OVER_BUDGET)).isEqualTo(2);
      assertThat(bench.core.reserve(session, 0, chain(9), 0, 1).wanted()).isZero();
      assertThat(bench.core.reserve(bench.attach(), 0, chain(9), 0, 1).wanted()).isOne();

      bench.fill(save, 0, CHAIN);
      assertThat(bench.core.reserve(session, 0, CHAIN, 2, 4).wanted()).isEqualTo(2);
    }
  }

  @Test
  void aBlockLargerThanTheBudget_isSavedAlone() {
    CoreLimits limits = CoreLimits.of(8 * 4096).withSessionFillBytes(1);
    try (CoreBench bench = CoreBench.ofMemory(8, limits)) {
      CoreSession session = bench.attach();
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThat(save.wanted()).isOne();
      bench.fill(save, 0, CHAIN);
      assertThat(bench.core.reserve(session, 0, CHAIN, 0, 4).wanted()).isOne();
    }
  }

  @Test
  void aSave_endsOnce() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      bench.fill(save, 0, CHAIN);
      assertThat(save.state()).isEqualTo(SaveState.ENDED);
      assertThatThrownBy(() -> bench.core.abort(save)).isInstanceOf(IllegalTransitionException.class);
      assertThatThrownBy(() -> bench.core.commit(save, new int[4], new boolean[4]))
          .isInstanceOf(IllegalTransitionException.class);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void aCommitOfAnotherLength_isRefused_andTheSaveGoesOn() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThatThrownBy(() -> bench.core.commit(save, new int[3], new boolean[4]))
          .isInstanceOf(RefusedException.class).hasMessageContainingAll("3 checksums", "4 blocks");
      assertThatThrownBy(() -> bench.core.commit(save, new int[4], new boolean[5]))
          .isInstanceOf(RefusedException.class);
      assertThat(save.state()).isEqualTo(SaveState.GRANTED);
      bench.fill(save, 0, CHAIN);
      assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void aRangeOutsideTheChain_isRefused() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      int[][] ranges = {{-1, 2}, {0, 5}, {3, 2}};
      for (int[] range : ranges) {
        assertThatThrownBy(() -> bench.core.reserve(session, 0, CHAIN, range[0], range[1]))
            .isInstanceOf(RefusedException.class).hasMessageContaining(range[0] + " to " + range[1]);
      }
      assertThat(bench.core.reserve(session, 0, CHAIN, 4, 4).blocks()).isZero();
    }
  }
}
