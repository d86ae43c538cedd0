package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import io.orbitkv.core.lifecycle.LeaseState;
import io.orbitkv.core.lifecycle.RestoreState;
import io.orbitkv.core.lifecycle.SaveState;
import io.orbitkv.core.lifecycle.SessionState;
import io.orbitkv.core.lifecycle.TicketState;
import org.junit.jupiter.api.Test;

class SessionsTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  @Test
  void close_cancelsQueries_givesUpLeases_andLeavesGrantsToTheirHolders() {
    try (CoreBench bench = CoreBench.ofMemory(16)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      CoreLease untaken = bench.lease(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, lease, 0);
      CoreSave save = bench.core.reserve(session, 0, chain(9), 0, 1);
      bench.core.close(session);
      bench.core.close(session);
      bench.check();
      assertThat(ticket.state()).isEqualTo(TicketState.CANCELLED);
      assertThat(untaken.state()).isEqualTo(LeaseState.RETIRED);
      assertThat(lease.state()).isEqualTo(LeaseState.DRAINING);
      assertThat(session.state()).isEqualTo(SessionState.CLOSING);
      bench.evictAll();
      assertThat(bench.matches(restore, CHAIN, 0)).isTrue();
      bench.core.drained(restore);
      assertThat(session.state()).isEqualTo(SessionState.CLOSING);
      bench.fill(save, 0, chain(9));
      assertThat(session.state()).isEqualTo(SessionState.CLOSED);
      assertThat(bench.core.stats().leasedBytes()).isZero();
    }
  }

  @Test
  void close_ofAnIdleSession_isItsEnd() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      bench.core.close(session);
      assertThat(session.state()).isEqualTo(SessionState.CLOSED);
      assertThat(bench.hit(bench.attach(), CHAIN)).as("what it saved stays").isEqualTo(4);
    }
  }

  @Test
  void aClosedSession_isRefusedEverything() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      bench.core.close(session);
      assertThatThrownBy(() -> bench.core.query(session, CHAIN))
          .isInstanceOf(ClosedException.class).hasMessageContainingAll("'engine'", "CLOSED", "query");
      assertThatThrownBy(() -> bench.core.reserve(session, 0, CHAIN, 0, 4)).isInstanceOf(ClosedException.class);
      assertThatThrownBy(() -> bench.core.restore(session, lease, 0)).isInstanceOf(ClosedException.class);
    }
  }

  @Test
  void lose_quarantinesWhatWasGranted_untilItIsProvenGone() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, lease, 0);
      CoreSave save = bench.core.reserve(session, 0, chain(9, 8), 0, 2);
      CoreSave other = bench.core.reserve(session, 1, chain(9, 8), 0, 2);
      bench.core.lose(session);
      bench.core.lose(session);
      bench.check();
      assertThat(session.state()).isEqualTo(SessionState.LOST);
      assertThat(restore.state()).isEqualTo(RestoreState.QUARANTINED);
      assertThat(save.state()).isEqualTo(SaveState.QUARANTINED);
      assertThat(bench.core.stats().quarantinedBytes()).as("the extents of two ranks are the same")
          .isEqualTo(lease.bytes() + 2 * bench.recordBytes);
      bench.passTime(100 * CoreBench.LEASE_LIFE);
      bench.evictAll();
      assertThat(bench.pool.extents()).as("no time is proof").hasSize(6);
      assertThat(bench.matches(restore, CHAIN, 0)).isTrue();
      assertThatThrownBy(() -> bench.core.drained(restore)).isInstanceOf(IllegalTransitionException.class);
      assertThatThrownBy(() -> bench.core.abort(other)).isInstanceOf(IllegalTransitionException.class);
      bench.core.proveGone(session);
      bench.check();
      assertThat(session.state()).isEqualTo(SessionState.CLOSED);
      assertThat(bench.core.stats().quarantinedBytes()).isZero();
      assertThat(bench.core.stats().leasedBytes()).isZero();
      assertThat(bench.pool.extents()).as("what is saved stays, what was being saved goes").hasSize(4);
      assertThat(bench.fault(Fault.SESSION_LOST)).isOne();
    }
  }

  @Test
  void lose_ofASessionThatIsClosing_quarantinesWhatIsLeft() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, bench.lease(session, CHAIN), 0);
      bench.core.close(session);
      bench.core.lose(session);
      assertThat(restore.state()).isEqualTo(RestoreState.QUARANTINED);
      bench.core.proveGone(session);
      assertThat(session.state()).isEqualTo(SessionState.CLOSED);
    }
  }

  @Test
  void lose_ofOneRank_quarantinesItsGrants_andLeavesTheOthersToTheirHolders() {
    try (CoreBench bench = CoreBench.ofMemory(16)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      CoreRestore lost = bench.core.restore(session, lease, 1);
      CoreRestore other = bench.core.restore(session, lease, 0);
      CoreSave save = bench.core.reserve(session, 0, chain(9), 0, 1);
      bench.core.reserve(session, 1, chain(8), 0, 1);
      bench.core.lose(session, rank -> rank == 1);
      bench.check();
      assertThat(session.state()).isEqualTo(SessionState.LOST);
      assertThat(ticket.state()).isEqualTo(TicketState.CANCELLED);
      assertThat(lost.state()).isEqualTo(RestoreState.QUARANTINED);
      assertThat(bench.core.stats().quarantinedBytes()).as("what rank 1 restores and what it saves")
          .isEqualTo(lease.bytes() + bench.recordBytes);
      bench.core.enqueued(other);
      bench.core.drained(other);
      assertThat(bench.fill(save, 0, chain(9))).as("a commit after the loss counts").isOne();
      assertThatThrownBy(() -> bench.core.drained(lost)).isInstanceOf(IllegalTransitionException.class);
      bench.evictAll();
      assertThat(bench.matches(lost, CHAIN, 1)).isTrue();
      bench.core.proveGone(session, rank -> rank == 0);
      assertThat(session.state()).as("rank 1 may still copy").isEqualTo(SessionState.LOST);
      bench.core.proveGone(session, rank -> rank == 1);
      assertThat(session.state()).isEqualTo(SessionState.CLOSED);
      assertThat(bench.core.stats().quarantinedBytes()).isZero();
      assertThat(bench.fault(Fault.SESSION_LOST)).isOne();
      bench.fill(bench.core.reserve(bench.attach(0, 2), 1, chain(9), 0, 1), 1, chain(9));
      assertThat(bench.hit(bench.attach(0, 2), chain(9))).as("saved by rank 0 of the lost instance").isOne();
    }
  }

  @Test
  void lose_comesAgainForFurtherRanks_alsoOfAClosingSession() {
    try (CoreBench bench = CoreBench.ofMemory(16)) {
      CoreSession session = bench.attach(0, 3);
      CoreSave[] saves = new CoreSave[3];
      for (int rank = 0; rank < 3; rank++) {
        saves[rank] = bench.core.reserve(session, rank, CHAIN, 0, 4);
      }
      bench.core.close(session);
      bench.core.lose(session, rank -> rank == 0);
      bench.core.lose(session, rank -> rank <= 1);
      assertThat(saves).extracting(CoreSave::state)
          .containsExactly(SaveState.QUARANTINED, SaveState.QUARANTINED, SaveState.GRANTED);
      bench.core.proveGone(session);
      assertThat(saves).extracting(CoreSave::state).as("a proof is for those that were lost")
          .containsExactly(SaveState.ENDED, SaveState.ENDED, SaveState.GRANTED);
      bench.core.abort(saves[2]);
      assertThat(session.state()).isEqualTo(SessionState.CLOSED);
      assertThat(bench.pool.extents()).isEmpty();
    }
  }

  @Test
  void lose_ofASessionWithoutGrants_isItsEnd_andALaterProofIsNothing() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      bench.core.lose(session, rank -> false);
      assertThat(lease.state()).isEqualTo(LeaseState.RETIRED);
      assertThat(session.state()).isEqualTo(SessionState.CLOSED);
      bench.core.proveGone(session);
      bench.core.lose(session);
      assertThat(bench.fault(Fault.SESSION_LOST)).isOne();
    }
  }

  @Test
  void proveGone_isForLostSessions() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSave save = bench.core.reserve(session, 0, CHAIN, 0, 4);
      assertThatThrownBy(() -> bench.core.proveGone(session)).isInstanceOf(IllegalTransitionException.class);
      assertThat(save.state()).isEqualTo(SaveState.GRANTED);
      assertThat(bench.pool.extents()).hasSize(4);
    }
  }

  @Test
  void aBlockThatALostRankNeverCommitted_canBeSavedByItsSuccessor() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession lost = bench.attach();
      bench.core.reserve(lost, 0, CHAIN, 0, 4);
      bench.core.lose(lost);
      CoreSession successor = bench.attach();
      assertThat(bench.core.reserve(successor, 0, CHAIN, 0, 4).wanted()).as("while it may still be written").isZero();
      bench.core.proveGone(lost);
      bench.save(successor, CHAIN);
      assertThat(bench.hit(successor, CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void attach_overTheBound_isUnavailable_untilOneCloses() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession first = bench.attach();
      for (int i = 1; i < 8; i++) {
        bench.attach();
      }
      assertThatThrownBy(bench::attach).isInstanceOf(UnavailableException.class).hasMessageContaining("8 are attached");
      bench.core.close(first);
      assertThat(bench.attach().state()).isEqualTo(SessionState.OPEN);
    }
  }

  @Test
  void attach_withAnotherLayoutOfTheNamespace_isRefused() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      bench.attach(0, 2);
      assertThatThrownBy(() -> bench.attach(0, 3)).isInstanceOf(RefusedException.class)
          .hasMessageContainingAll("2 x 24", "3 x 24", "must change the namespace");
    }
  }

  @Test
  void attach_withBlocksLargerThanMemoryOrASegment_isRefused() {
    SessionSpec spec = new SessionSpec("large", CoreBench.namespace(5), new ShardLayout(1, 1000));
    try (CoreBench small = CoreBench.withStore(2); CoreBench large = CoreBench.withStore(100)) {
      assertThatThrownBy(() -> small.core.attach(spec)).isInstanceOf(RefusedException.class)
          .hasMessageContaining("give the cache more memory");
      assertThatThrownBy(() -> large.core.attach(spec)).isInstanceOf(RefusedException.class)
          .hasMessageContaining("larger segments");
    }
  }
}
