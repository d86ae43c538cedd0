package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static io.orbitkv.core.machine.CoreBench.chainOf;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.lifecycle.TicketState;
import io.orbitkv.core.sim.SimStore;
import io.orbitkv.core.sim.SimStore.Kind;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class StoreTierTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  @Nested
  class Reads {

    @Test
    void aStoredPrefix_isServed_onceAllItsReadsEnded() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        assertThat(ticket.state()).isEqualTo(TicketState.PENDING);
        assertThat(ticket.missing()).isEqualTo(4);
        for (int left = 4; left > 0; left--) {
          assertThat(ticket.state()).isEqualTo(TicketState.PENDING);
          bench.store.complete(Kind.READ, SimStore.AS_IT_IS);
          bench.check();
        }
        CoreLease lease = bench.core.claim(ticket);
        assertThat(bench.matches(bench.core.restore(session, lease, 0), CHAIN, 0)).isTrue();
        assertThat(bench.core.stats().blocksHitSsd()).isEqualTo(4);
      }
    }

    @Test
    void readsThatEndFromTheLastToTheFirst_areVisibleAllAtOnce() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        for (int i = 0; i < 3; i++) {
          bench.store.completeLast(Kind.READ, SimStore.AS_IT_IS);
          bench.check();
          assertThat(Inventory.resident(bench.core, session, CHAIN)).isZero();
        }
        bench.store.complete(Kind.READ, SimStore.AS_IT_IS);
        assertThat(bench.core.claim(ticket).blocks()).isEqualTo(4);
      }
    }

    @Test
    void twoQueriesForTheSameBlocks_costOneReadEach() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket one = bench.core.query(session, CHAIN);
        CoreTicket other = bench.core.query(bench.attach(), CHAIN.first(3));
        assertThat(bench.store.pending(Kind.READ)).isEqualTo(4);
        bench.store.completeAll();
        assertThat(bench.core.claim(one).blocks()).isEqualTo(4);
        assertThat(bench.core.claim(other).blocks()).isEqualTo(3);
      }
    }

    @ParameterizedTest
    @EnumSource(value = StoreStatus.class, names = {"CORRUPT", "MISMATCH", "IO_ERROR"})
    void aBlockWhoseReadFails_endsTheHitThere_andIsForgotten(StoreStatus status) {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        bench.store.complete(Kind.READ, SimStore.AS_IT_IS);
        bench.store.complete(Kind.READ, SimStore.AS_IT_IS);
        bench.store.complete(Kind.READ, status);
        assertThat(ticket.state()).as("the reads behind it are nobody's").isEqualTo(TicketState.READY);
        assertThat(ticket.ending()).isEqualTo(MissReason.FAILED_READ);
        bench.check();
        bench.store.completeAll();
        CoreLease lease = bench.core.claim(ticket);
        assertThat(lease.blocks()).isEqualTo(2);
        assertThat(lease.bytes()).isEqualTo(2 * bench.recordBytes);
        assertThat(bench.matches(bench.core.restore(session, lease, 0), CHAIN, 0)).isTrue();
        assertThat(Inventory.visible(bench.core, session, CHAIN)).isEqualTo(2);
        assertThat(bench.core.stats().blocksSsd()).as("its child went with it").isEqualTo(2);
        assertThat(bench.pool.extents()).hasSize(2);
      }
    }

    @Test
    void aFailedReadOfTheFirstBlock_isAMiss() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        bench.disk.damageAll();
        CoreTicket ticket = bench.core.query(session, CHAIN);
        bench.store.completeAll();
        assertThat(ticket.isMiss()).isTrue();
        assertThat(ticket.ending()).isEqualTo(MissReason.FAILED_READ);
        assertThat(bench.core.stats().leasedBytes()).isZero();
        assertThat(bench.fault(Fault.SSD_READ_CORRUPT)).isPositive();
        assertThat(bench.pool.extents()).isEmpty();
      }
    }

    @Test
    void aReadThatTheStoreDidNotBegin_costsTheHitAndNotTheBlock() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN.first(1));
        CoreTicket ticket = bench.core.query(session, CHAIN.first(1));
        bench.store.complete(Kind.READ, StoreStatus.CLOSED);
        assertThat(ticket.isMiss()).isTrue();
        assertThat(Inventory.visible(bench.core, session, CHAIN)).isOne();
      }
    }

    @Test
    void readsOfACancelledQuery_keepTheirMemory_andFillTheCache() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        bench.core.cancel(ticket);
        bench.evictAll();
        assertThat(bench.pool.extents()).hasSize(4);
        bench.store.completeAll();
        assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
      }
    }

    @Test
    void readsBehindAFailedOne_keepTheirMemoryUntilTheyEnd() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        bench.core.query(session, CHAIN);
        bench.store.complete(Kind.READ, StoreStatus.CORRUPT);
        bench.check();
        assertThat(bench.pool.extents()).as("of the three reads under way").hasSize(3);
        bench.store.completeAll();
        bench.check();
        assertThat(bench.pool.extents()).isEmpty();
      }
    }

    @Test
    void aHitThatMemoryHasNoRoomFor_isCut() {
      try (CoreBench bench = CoreBench.withStore(6)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        PrefixChain other = chain(9, 8, 7);
        bench.save(session, other);
        bench.core.restore(session, bench.lease(session, other), 0);
        CoreTicket ticket = bench.core.query(session, CHAIN.first(3));
        assertThat(ticket.state()).isEqualTo(TicketState.PENDING);
        bench.store.completeAll();
        assertThat(bench.core.claim(ticket).blocks()).isEqualTo(3);
        CoreTicket more = bench.core.query(session, CHAIN);
        assertThat(more.state()).as("the budget is as large as memory").isEqualTo(TicketState.BUSY);
      }
      try (CoreBench bench = CoreBench.withStore(6)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        bench.core.reserve(session, 0, chain(9, 8, 7), 0, 3);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        assertThat(ticket.ending()).isEqualTo(MissReason.NO_MEMORY);
        bench.store.completeAll();
        assertThat(bench.core.claim(ticket).blocks()).isEqualTo(3);
        assertThat(bench.core.stats().missed()).containsEntry(MissReason.NO_MEMORY, 1L);
      }
    }
  }

  @Nested
  class Writes {

    @Test
    void isWritten_onceTheLastWriteEnded() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        assertThat(bench.core.isWritten()).isTrue();
        bench.save(session, CHAIN);
        assertThat(bench.core.isWritten()).as("while a segment is activated").isFalse();
        bench.store.complete(Kind.ACTIVATE, SimStore.AS_IT_IS);
        assertThat(bench.store.pending(Kind.APPEND)).isEqualTo(4);
        for (int left = 4; left > 0; left--) {
          assertThat(bench.core.isWritten()).isFalse();
          bench.store.complete(Kind.APPEND, SimStore.AS_IT_IS);
        }
        assertThat(bench.core.isWritten()).isTrue();
        assertThat(bench.core.stats().blocksSsd()).isEqualTo(4);
      }
    }

    @Test
    void aBlockThatIsBeingWritten_isServedAtOnce_andCannotLeave() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        bench.store.complete(Kind.ACTIVATE, SimStore.AS_IT_IS);
        assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
        bench.evictAll();
        assertThat(bench.core.stats().blocksDram()).isEqualTo(4);
        bench.store.completeAll();
        bench.evictAll();
        assertThat(bench.core.stats().blocksDram()).isZero();
      }
    }

    @Test
    void writesAreBounded() {
      try (CoreBench bench = CoreBench.withStore(16)) {
        bench.save(bench.attach(), chainOf(12));
        bench.store.complete(Kind.ACTIVATE, SimStore.AS_IT_IS);
        assertThat(bench.store.pending(Kind.APPEND)).isEqualTo(4);
        bench.store.completeAll();
        assertThat(bench.core.stats().blocksSsd()).isEqualTo(12);
      }
    }

    @Test
    void aBlockThatLeavesBeforeItsTurn_isCountedAsMissed() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        bench.save(bench.attach(), CHAIN);
        bench.evictAll();
        assertThat(bench.core.isWritten()).isTrue();
        assertThat(bench.fault(Fault.SSD_WRITE_MISSED)).isEqualTo(4);
        bench.store.completeAll();
        assertThat(bench.core.stats().blocksSsd()).isZero();
      }
    }

    @Test
    void aSegmentFilledUp_isSealed_andTheNextIsOpened() {
      try (CoreBench bench = CoreBench.withStore(40)) {
        CoreSession session = bench.attach();
        bench.store(session, chainOf(20));
        assertThat(bench.core.stats().blocksSsd()).isEqualTo(20);
        bench.core.sealStore();
        bench.store.completeAll();
        bench.restart();
        assertThat(Inventory.visible(bench.core, bench.attach(), chainOf(20))).isEqualTo(20);
      }
    }

    @Test
    void theNextSegment_isActivatedAhead_soThatNoWriteWaitsForItAtTheEnd() {
      try (CoreBench bench = CoreBench.withStore(40)) {
        CoreSession session = bench.attach();
        bench.save(session, chainOf(7));
        bench.store.completeAll();
        bench.save(session, chainOf(8), 7);
        assertThat(bench.store.pending(Kind.ACTIVATE)).as("the eighth block of sixteen is the half").isOne();
        bench.store.completeAll();
        bench.save(session, chainOf(15), 8);
        bench.store.completeAll();
        assertThat(bench.store.pending()).as("one ahead is enough").isZero();
        bench.save(session, chainOf(18), 15);
        assertThat(bench.store.pending(Kind.ACTIVATE)).isZero();
        assertThat(bench.store.pending(Kind.SEAL)).isOne();
        assertThat(bench.store.pending(Kind.APPEND)).as("over the segment's end").isEqualTo(3);
        bench.check();
      }
    }

    @Test
    void aSegmentActivatedAhead_isSealedWithTheOpenOne_andUsedAfterARestart() {
      try (CoreBench bench = CoreBench.withStore(40)) {
        bench.store(bench.attach(), chainOf(10));
        bench.core.sealStore();
        assertThat(bench.store.pending(Kind.SEAL)).isEqualTo(2);
        bench.store.completeAll();
        bench.restart();
        assertThat(bench.store.pending()).as("nothing is left half filled").isZero();
        for (int i = 0; i < 20; i++) {
          bench.save(bench.attach(), chain(100 + i, 1, 2, 3, 4, 5, 6, 7));
          bench.store.completeAll();
          bench.core.close(bench.core.sessions().iterator().next());
        }
        assertThat(bench.core.isWritten()).isTrue();
        bench.check();
      }
    }

    @Test
    void theLastFreeSegment_isNotActivatedAhead() {
      try (CoreBench bench = CoreBench.withStore(160)) {
        CoreSession session = bench.attach();
        for (int i = 0; i < 16 * 6; i++) {
          bench.store(session, chain(1000 + i));
        }
        bench.core.query(session, chain(1000));
        // The first segment cannot be emptied while it is read, so the eighth stays the only free one.
        for (int i = 16 * 6; i < 16 * 7 - 2; i++) {
          bench.save(session, chain(1000 + i));
          completeAllBut(bench, Kind.READ);
        }
        assertThat(bench.store.pending()).isOne();
        bench.store.complete(Kind.READ, SimStore.AS_IT_IS);
        assertThat(bench.store.pending(Kind.ACTIVATE)).isOne();
        bench.check();
      }
    }

    private static void completeAllBut(CoreBench bench, Kind kept) {
      for (Kind kind : Kind.values()) {
        while (kind != kept && bench.store.pending(kind) > 0) {
          bench.store.complete(kind, SimStore.AS_IT_IS);
        }
      }
    }

    @Test
    void aDiskThatIsFull_givesUpOldBlocks_andGoesOnWriting() {
      try (CoreBench bench = CoreBench.withStore(20)) {
        CoreSession session = bench.attach();
        for (int i = 0; i < 20; i++) {
          bench.save(session, chain(100 + i, 1, 2, 3, 4, 5, 6, 7));
          bench.store.completeAll();
          bench.passTime(1);
          bench.store.completeAll();
          bench.check();
        }
        assertThat(bench.core.isWritten()).isTrue();
        assertThat(bench.fault(Fault.SSD_RECLAIMED)).isPositive();
        assertThat(bench.core.stats().ssdBytes()).isLessThanOrEqualTo(bench.core.stats().ssdCapacityBytes());
        assertThat(Inventory.visible(bench.core, session, chain(119, 1, 2, 3, 4, 5, 6, 7))).isEqualTo(8);
      }
    }
  }

  @Nested
  class Health {

    @Test
    void threeFailedWritesInARow_makeItReadOnly() {
      try (CoreBench bench = CoreBench.withStore(16)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        bench.save(session, chain(9, 8, 7, 6, 5));
        bench.store.complete(Kind.APPEND, StoreStatus.IO_ERROR);
        bench.store.complete(Kind.APPEND, StoreStatus.IO_ERROR);
        assertThat(bench.core.stats().ssdHealth()).isEqualTo("healthy");
        bench.store.complete(Kind.APPEND, StoreStatus.IO_ERROR);
        bench.check();
        assertThat(bench.core.stats().ssdHealth()).isEqualTo("read-only");
        bench.store.completeAll();
        assertThat(bench.core.isWritten()).as("nothing waits for a disk that takes nothing").isTrue();
        assertThat(bench.hit(session, chain(9, 8, 7, 6, 5))).as("memory goes on").isEqualTo(5);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        bench.store.completeAll();
        assertThat(bench.core.claim(ticket).blocks()).as("what is there is still read").isEqualTo(4);
      }
    }

    @Test
    void aWriteThatSucceeds_startsTheCountAnew() {
      try (CoreBench bench = CoreBench.withStore(16)) {
        CoreSession session = bench.attach();
        for (int i = 0; i < 5; i++) {
          bench.save(session, chain(10 + i));
          if (bench.store.pending(Kind.ACTIVATE) > 0) {
            bench.store.complete(Kind.ACTIVATE, SimStore.AS_IT_IS);
          }
          bench.store.complete(Kind.APPEND, StoreStatus.IO_ERROR);
          bench.save(session, chain(20 + i));
          bench.store.complete(Kind.APPEND, SimStore.AS_IT_IS);
        }
        assertThat(bench.core.stats().ssdHealth()).isEqualTo("healthy");
        assertThat(bench.fault(Fault.SSD_WRITE_ERROR)).isEqualTo(5);
      }
    }

    @ParameterizedTest
    @EnumSource(value = StoreStatus.class, names = {"NO_SPACE", "READ_ONLY"})
    void aDeviceThatTakesNoWrites_isReadOnlyAtOnce(StoreStatus status) {
      try (CoreBench bench = CoreBench.withStore(8)) {
        bench.save(bench.attach(), CHAIN);
        bench.store.complete(Kind.ACTIVATE, status);
        assertThat(bench.core.stats().ssdHealth()).isEqualTo("read-only");
        assertThat(bench.core.isWritten()).isTrue();
        assertThat(bench.fault(Fault.SSD_WRITE_MISSED)).isEqualTo(4);
        bench.check();
      }
    }

    @Test
    void aFailedWrite_leavesTheBlockInMemory() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        bench.store.complete(Kind.ACTIVATE, SimStore.AS_IT_IS);
        bench.store.complete(Kind.APPEND, StoreStatus.IO_ERROR);
        bench.check();
        bench.store.completeAll();
        assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
        assertThat(bench.core.stats().blocksSsd()).as("a child is not written without its parent").isZero();
      }
    }

    @Test
    void eightFailedReadsInARow_turnItOff() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        for (int i = 0; i < 10; i++) {
          bench.store(session, chain(10 + i));
        }
        for (int i = 0; i < 8; i++) {
          assertThat(bench.core.stats().ssdHealth()).isEqualTo("healthy");
          CoreTicket ticket = bench.core.query(session, chain(10 + i));
          bench.store.complete(Kind.READ, StoreStatus.IO_ERROR);
          assertThat(ticket.ending()).isEqualTo(MissReason.FAILED_READ);
        }
        assertThat(bench.core.stats().ssdHealth()).isEqualTo("off");
        CoreTicket ticket = bench.core.query(session, chain(19));
        assertThat(ticket.isMiss()).as("nothing of it is used").isTrue();
        assertThat(bench.store.pending()).isZero();
        bench.save(session, CHAIN);
        assertThat(bench.core.isWritten()).isTrue();
        assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
      }
    }

    @Test
    void aReadThatSucceeds_startsTheCountAnew() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, chain(1));
        for (int i = 0; i < 12; i++) {
          bench.store(session, chain(10 + i));
          bench.core.query(session, chain(10 + i));
          bench.store.complete(Kind.READ, StoreStatus.IO_ERROR);
          bench.core.query(session, chain(1));
          bench.store.completeAll();
          bench.passTime(CoreBench.TICKET_LIFE);
          bench.evictAll();
        }
        assertThat(bench.core.stats().ssdHealth()).isEqualTo("healthy");
      }
    }

    @Test
    void damagedBytes_areNoFaultOfTheDevice() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        for (int i = 0; i < 10; i++) {
          bench.store(session, chain(10 + i));
          bench.core.query(session, chain(10 + i));
          bench.store.complete(Kind.READ, StoreStatus.CORRUPT);
        }
        assertThat(bench.core.stats().ssdHealth()).isEqualTo("healthy");
        assertThat(bench.fault(Fault.SSD_READ_CORRUPT)).isEqualTo(10);
      }
    }
  }
}
