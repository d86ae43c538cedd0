package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static io.orbitkv.core.machine.CoreBench.chainOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import io.orbitkv.core.lifecycle.LeaseState;
import io.orbitkv.core.lifecycle.TicketState;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class QueriesTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  @Test
  void query_isAnsweredAtOnce_withTheLongestPrefixInMemory() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN.first(3));
      CoreTicket ticket = bench.core.query(session, CHAIN);
      assertThat(ticket.state()).isEqualTo(TicketState.READY);
      assertThat(ticket.ending()).isEqualTo(MissReason.NOT_STORED);
      CoreLease lease = bench.core.claim(ticket);
      assertThat(lease.blocks()).isEqualTo(3);
      assertThat(lease.bytes()).isEqualTo(3 * bench.recordBytes);
      assertThat(bench.core.stats().blocksHitDram()).isEqualTo(3);
      assertThat(bench.core.stats().missed()).containsOnly(Map.entry(MissReason.NOT_STORED, 1L));
    }
  }

  @Test
  void query_misses_whenNothingIsStored() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreTicket ticket = bench.core.query(bench.attach(), CHAIN);
      assertThat(ticket.isMiss()).isTrue();
      assertThat(ticket.ending()).isEqualTo(MissReason.NOT_STORED);
      assertThat(bench.core.stats().blocksMissed()).isEqualTo(4);
      assertThat(bench.core.stats().leasedBytes()).isZero();
    }
  }

  @Test
  void query_ofAnotherNamespace_findsNothing() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      bench.save(bench.attach(0, 1), CHAIN);
      assertThat(bench.hit(bench.attach(1, 1), CHAIN)).isZero();
      assertThat(bench.hit(bench.attach(0, 1), CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void query_ofABranch_sharesThePrefixOnly() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      assertThat(bench.hit(session, chain(1, 2, 9, 4))).isEqualTo(2);
    }
  }

  @Test
  void claim_ofAQueryThatIsNotReady_changesNothing() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      bench.store(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      assertThatThrownBy(() -> bench.core.claim(ticket)).isInstanceOf(IllegalTransitionException.class);
      bench.check();
      bench.store.completeAll();
      assertThat(bench.core.claim(ticket).blocks()).isEqualTo(4);
    }
  }

  @Test
  void query_thatIsPending_outlivesTheMemoryOfItsChain() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      bench.store(session, CHAIN);
      ByteBuffer received = ByteBuffer.allocateDirect(4 * Digest.BYTES);
      CHAIN.write(received);
      CoreTicket ticket = bench.core.query(session, new QueryId(5, 0), PrefixChain.over(received.flip()));
      assertThat(ticket.state()).isEqualTo(TicketState.PENDING);

      // As the next frame does.
      chain(9, 8, 7, 6).write(received.clear());

      assertThat(bench.core.query(session, new QueryId(5, 0), CHAIN)).isSameAs(ticket);
      assertThatThrownBy(() -> bench.core.query(session, new QueryId(5, 0), PrefixChain.over(received.flip())))
          .isInstanceOf(RefusedException.class).hasMessageContaining("another chain");
      bench.store.completeAll();
      bench.check();
      assertThat(bench.core.claim(ticket).blocks()).isEqualTo(4);
      assertThat(bench.core.stats().blocksHitSsd()).isEqualTo(4);
    }
  }

  @Nested
  class Revisions {

    @Test
    void theSameIdAndChain_polls() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, new QueryId(5, 0), CHAIN);
        assertThat(bench.core.query(session, new QueryId(5, 0), CHAIN)).isSameAs(ticket);
        assertThat(bench.core.stats().leasedBytes()).isEqualTo(4 * bench.recordBytes);
      }
    }

    @Test
    void theSameIdWithAnotherChain_isRefused() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, new QueryId(5, 0), CHAIN);
        assertThatThrownBy(() -> bench.core.query(session, new QueryId(5, 0), CHAIN.first(2)))
            .isInstanceOf(RefusedException.class).hasMessageContainingAll("5/0", "raise its revision");
        assertThat(ticket.state()).isEqualTo(TicketState.READY);
      }
    }

    @Test
    void aHigherRevision_replaces() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreTicket first = bench.core.query(session, new QueryId(5, 0), CHAIN);
        CoreTicket second = bench.core.query(session, new QueryId(5, 1), CHAIN.first(2));
        assertThat(first.state()).isEqualTo(TicketState.CANCELLED);
        assertThat(bench.core.stats().leasedBytes()).isEqualTo(2 * bench.recordBytes);
        assertThat(bench.core.claim(second).blocks()).isEqualTo(2);
        assertThatThrownBy(() -> bench.core.claim(first)).isInstanceOf(IllegalTransitionException.class);
      }
    }

    @Test
    void aLowerRevision_isRefused_andTheHigherLivesOn() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, new QueryId(5, 3), CHAIN);
        assertThatThrownBy(() -> bench.core.query(session, new QueryId(5, 2), CHAIN))
            .isInstanceOf(RefusedException.class).hasMessageContainingAll("5/2", "revision 3");
        assertThat(bench.core.claim(ticket).blocks()).isEqualTo(4);
      }
    }

    @Test
    void anOperationThatEnded_isRefused() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        bench.core.claim(bench.core.query(session, new QueryId(5, 0), CHAIN));
        for (QueryId id : new QueryId[] {new QueryId(5, 0), new QueryId(5, 1), new QueryId(4, 0)}) {
          assertThatThrownBy(() -> bench.core.query(session, id, CHAIN)).as("%s", id)
              .isInstanceOf(RefusedException.class).hasMessageContainingAll(id.toString(), "operation 5");
        }
        assertThat(bench.core.query(session, CHAIN).id()).isEqualTo(new QueryId(6, 0));
      }
    }

    @Test
    void idsOfSessionsDoNotMeet() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreTicket one = bench.core.query(bench.attach(), new QueryId(7, 1), CHAIN);
        CoreTicket other = bench.core.query(bench.attach(), new QueryId(7, 0), CHAIN);
        assertThat(one).isNotSameAs(other);
      }
    }

    @Test
    void readsOfAReplacedRevision_fillTheCacheAndAnswerNobody() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket first = bench.core.query(session, new QueryId(5, 0), CHAIN);
        CoreTicket second = bench.core.query(session, new QueryId(5, 1), chain(1, 2));
        bench.store.completeAll();
        assertThat(first.state()).isEqualTo(TicketState.CANCELLED);
        assertThat(bench.core.claim(second).blocks()).isEqualTo(2);
        assertThat(bench.core.stats().leasedBytes()).isEqualTo(2 * bench.recordBytes);
        assertThat(Inventory.resident(bench.core, session, CHAIN)).isEqualTo(4);
        bench.check();
      }
    }
  }

  @Nested
  class Bounds {

    @Test
    void aHitLargerThanTheBudget_isCut() {
      try (CoreBench bench = CoreBench.ofMemory(8, CoreBench.limits(2 * 4096 + 4095))) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        assertThat(ticket.ending()).isEqualTo(MissReason.OVER_BUDGET);
        assertThat(bench.core.claim(ticket).blocks()).isEqualTo(2);
        assertThat(bench.core.stats().missed()).containsEntry(MissReason.OVER_BUDGET, 2L);
      }
    }

    @Test
    void aBudgetInUse_isBusy_andChargesNothing() {
      try (CoreBench bench = CoreBench.ofMemory(8, CoreBench.limits(5 * 4096))) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreLease lease = bench.lease(session, CHAIN);
        CoreTicket ticket = bench.core.query(bench.attach(), CHAIN);
        assertThat(ticket.state()).isEqualTo(TicketState.BUSY);
        assertThat(ticket.busy()).contains("20480 bytes of leases");
        assertThat(bench.core.stats().leasedBytes()).isEqualTo(lease.bytes());
        assertThat(bench.core.stats().queries()).as("a busy answer is neither hit nor miss").isOne();
        bench.core.close(lease);
        assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
      }
    }

    @Test
    void aSessionsOwnBudget_bindsItAlone() {
      CoreLimits limits = new CoreLimits(8 * 4096, 4 * 4096, Long.MAX_VALUE, 8, 8, 8, 8, 8, 4,
          Duration.ofNanos(100), Duration.ofNanos(100), Duration.ofNanos(100));
      try (CoreBench bench = CoreBench.ofMemory(8, limits)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        bench.lease(session, CHAIN);
        assertThat(bench.core.query(session, CHAIN).state()).isEqualTo(TicketState.BUSY);
        assertThat(bench.lease(bench.attach(), CHAIN).blocks()).isEqualTo(4);
      }
    }

    @Test
    void tables_areBusyAtTheirBounds() {
      CoreLimits limits = new CoreLimits(64 * 4096, 64 * 4096, Long.MAX_VALUE, 8, 2, 3, 4, 8, 4,
          Duration.ofNanos(100), Duration.ofNanos(100), Duration.ofNanos(100));
      try (CoreBench bench = CoreBench.ofMemory(8, limits)) {
        CoreSession session = bench.attach();
        CoreSession other = bench.attach();
        bench.save(session, CHAIN);
        CoreTicket first = bench.core.query(session, CHAIN);
        CoreTicket second = bench.core.query(session, CHAIN);
        assertThat(bench.core.query(session, CHAIN).busy()).isEqualTo("2 live queries of one session");
        bench.core.query(other, CHAIN);
        assertThat(bench.core.query(other, CHAIN).busy()).isEqualTo("3 live queries");
        bench.core.claim(first);
        bench.core.claim(second);
        bench.lease(session, CHAIN);
        bench.lease(session, CHAIN);
        assertThat(bench.core.query(session, CHAIN).busy()).isEqualTo("4 leases of one session");
        assertThat(bench.fault(Fault.QUERY_BUSY)).isEqualTo(3);
        bench.check();
      }
    }
  }

  @Nested
  class Deadlines {

    @Test
    void aQueryThatNobodyPolls_expires_andItsReadsFillTheCache() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        bench.passTime(CoreBench.TICKET_LIFE);
        assertThat(ticket.state()).isEqualTo(TicketState.EXPIRED);
        assertThat(bench.core.stats().leasedBytes()).isZero();
        bench.store.completeAll();
        assertThat(ticket.state()).isEqualTo(TicketState.EXPIRED);
        assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
        assertThat(bench.fault(Fault.QUERY_EXPIRED)).isOne();
      }
    }

    @Test
    void polling_keepsAQueryAlive() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        for (int i = 0; i < 5; i++) {
          bench.passTime(CoreBench.TICKET_LIFE - 1);
          bench.core.polled(ticket);
        }
        assertThat(ticket.state()).isEqualTo(TicketState.PENDING);
      }
    }

    @Test
    void anAnswerThatNobodyFetches_expires_andItsLeaseIsGivenUp() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        bench.passTime(CoreBench.TICKET_LIFE);
        assertThat(ticket.state()).isEqualTo(TicketState.EXPIRED);
        assertThat(bench.core.stats().leasedBytes()).isZero();
        bench.evictAll();
        assertThat(bench.core.stats().blocksDram()).isZero();
      }
    }
  }

  @Test
  void cancel_givesUpTheLeaseThatNobodyFetched() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      bench.core.cancel(ticket);
      bench.core.cancel(ticket);
      assertThat(ticket.state()).isEqualTo(TicketState.CANCELLED);
      assertThat(bench.core.stats().leasedBytes()).isZero();
    }
  }

  @Test
  void cancel_afterTheAnswerWasFetched_leavesTheLeaseToItsHolder() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      CoreLease lease = bench.core.claim(ticket);
      bench.core.cancel(ticket);
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    }
  }

  @Test
  void onAnswered_tellsOnce_whenTheLastReadEnds() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      bench.store(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      int[] told = {0};
      ticket.onAnswered(() -> told[0]++);
      assertThat(told[0]).isZero();
      bench.store.completeAll();
      assertThat(told[0]).isOne();
      bench.core.claim(ticket);
      assertThat(told[0]).isOne();
    }
  }

  @Test
  void onAnswered_tellsEveryWaiter_exceptThoseThatGaveUp() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      bench.store(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      List<String> told = new ArrayList<>();
      Runnable third = () -> told.add("third");
      ticket.onAnswered(() -> told.add("first"));
      ticket.onAnswered(() -> told.add("second"));
      ticket.onAnswered(third);
      ticket.forget(third);
      bench.core.cancel(ticket);
      assertThat(told).containsExactly("first", "second");
      ticket.onAnswered(() -> told.add("late"));
      assertThat(told).as("at once if it is over").endsWith("late");
    }
  }

  @Test
  void query_ofAnEmptyChain_isAMissOfNothing() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreTicket ticket = bench.core.query(bench.attach(), chainOf(0));
      assertThat(ticket.isMiss()).isTrue();
      assertThat(ticket.ending()).isEqualTo(MissReason.NONE);
    }
  }
}
