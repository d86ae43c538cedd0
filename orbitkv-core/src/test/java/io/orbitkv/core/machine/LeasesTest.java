package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import io.orbitkv.core.lifecycle.LeaseState;
import io.orbitkv.core.lifecycle.RestoreState;
import io.orbitkv.core.lifecycle.TicketState;
import org.junit.jupiter.api.Test;

class LeasesTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  @Test
  void restore_givesEveryRankItsOwnShards() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 3);
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      CoreRestore first = bench.core.restore(session, lease, 0);
      for (int rank : new int[] {2, 1}) {
        CoreRestore restore = bench.core.restore(session, lease, rank);
        assertThat(restore.blocks()).isEqualTo(4);
        for (int block = 0; block < 4; block++) {
          assertThat(restore.shardAt(block) - first.shardAt(block)).isEqualTo((long) rank * CoreBench.SHARD_BYTES);
        }
        assertThat(bench.matches(restore, CHAIN, rank)).isTrue();
      }
      assertThat(bench.matches(first, CHAIN, 0)).isTrue();
    }
  }

  @Test
  void restore_leavesRoomForTheStoresHeader() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, bench.lease(session, CHAIN), 0);
      int header = bench.store.geometry().headerBytes();
      for (int block = 0; block < 4; block++) {
        assertThat(bench.pool.extents()).contains(restore.shardAt(block) - header);
      }
    }
  }

  @Test
  void aShareTakenTwice_isRefused_andTheOtherRanksCanStillBeTaken() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, lease, 1);
      assertThatThrownBy(() -> bench.core.restore(session, lease, 1))
          .isInstanceOf(RefusedException.class).hasMessageContaining("rank 1 has taken its share");
      bench.core.drained(restore);
      assertThatThrownBy(() -> bench.core.restore(session, lease, 1)).as("after its drain")
          .isInstanceOf(RefusedException.class);
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
      bench.check();
      bench.core.drained(bench.core.restore(session, lease, 0));
      assertThat(lease.state()).isEqualTo(LeaseState.RETIRED);
    }
  }

  @Test
  void aLeaseOfAnotherSession_isRefused_andUnchanged() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      assertThatThrownBy(() -> bench.core.restore(bench.attach(), lease, 0))
          .isInstanceOf(RefusedException.class).hasMessageContaining("belongs to instance");
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
      assertThat(bench.matches(bench.core.restore(session, lease, 0), CHAIN, 0)).isTrue();
    }
  }

  @Test
  void aLease_isFoundByItsNumber_fromWhenItIsHandedOverUntilItEnds() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      assertThat(ticket.state()).isEqualTo(TicketState.READY);
      long next = 1;
      assertThatThrownBy(() -> bench.core.restore(session, next, 0)).as("before anybody fetched it")
          .isInstanceOf(RefusedException.class).hasMessageContainingAll("lease 1", "'engine'", "query again");
      CoreLease lease = bench.core.claim(ticket);
      assertThat(lease.id()).isEqualTo(next);
      assertThat(bench.core.lease(session, next)).contains(lease);
      CoreSession other = bench.attach();
      assertThat(bench.core.lease(other, next)).as("for another session").isEmpty();
      assertThatThrownBy(() -> bench.core.restore(other, next, 0)).isInstanceOf(RefusedException.class);
      CoreRestore restore = bench.core.restore(session, next, 0);
      assertThat(bench.matches(restore, CHAIN, 0)).isTrue();
      bench.core.drained(restore);
      assertThat(bench.core.lease(session, next)).isEmpty();
      assertThatThrownBy(() -> bench.core.restore(session, next, 0)).isInstanceOf(RefusedException.class);
    }
  }

  @Test
  void aRankThatThereIsNot_isRefused() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      for (int rank : new int[] {-1, 2}) {
        assertThatThrownBy(() -> bench.core.restore(session, lease, rank))
            .isInstanceOf(RefusedException.class).hasMessageContainingAll("rank " + rank, "0 to 1");
      }
    }
  }

  @Test
  void aLeaseThatEnded_isRefused() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, lease, 0);
      bench.core.close(lease);
      bench.core.close(lease);
      assertThat(lease.state()).isEqualTo(LeaseState.DRAINING);
      assertThatThrownBy(() -> bench.core.restore(session, lease, 1))
          .isInstanceOf(RefusedException.class).hasMessageContainingAll("has ended", "query again");
      bench.core.drained(restore);
      assertThat(lease.state()).isEqualTo(LeaseState.RETIRED);
    }
  }

  @Test
  void aLease_keepsItsWholePrefix_untilTheLastDrain() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN.first(3));
      CoreRestore restore = bench.core.restore(session, lease, 0);
      bench.core.close(lease);
      bench.evictAll();
      assertThat(bench.core.stats().blocksDram()).as("all but the block behind the lease").isEqualTo(3);
      bench.core.enqueued(restore);
      bench.evictAll();
      assertThat(bench.matches(restore, CHAIN, 0)).isTrue();
      assertThat(bench.core.stats().leasedBytes()).isEqualTo(lease.bytes());
      bench.core.drained(restore);
      assertThat(bench.core.stats().leasedBytes()).isZero();
      bench.evictAll();
      assertThat(bench.core.stats().blocksDram()).isZero();
      assertThat(bench.pool.allocatedBytes()).isZero();
    }
  }

  @Test
  void anExpiredLease_givesUpItsShares_andNotWhatARestoreReads() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach(0, 2);
      bench.save(session, CHAIN);
      CoreLease untaken = bench.lease(session, CHAIN.first(2));
      CoreLease lease = bench.lease(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, lease, 1);
      bench.passTime(CoreBench.LEASE_LIFE);
      assertThat(untaken.state()).isEqualTo(LeaseState.RETIRED);
      assertThat(lease.state()).isEqualTo(LeaseState.DRAINING);
      assertThat(bench.fault(Fault.LEASE_EXPIRED)).isEqualTo(2);
      bench.evictAll();
      assertThat(bench.matches(restore, CHAIN, 1)).isTrue();
      bench.core.drained(restore);
      assertThat(lease.state()).isEqualTo(LeaseState.RETIRED);
    }
  }

  @Test
  void aLeaseWhoseSharesAreAllTaken_doesNotExpire() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreLease lease = bench.lease(session, CHAIN);
      bench.core.restore(session, lease, 0);
      bench.passTime(10 * CoreBench.LEASE_LIFE);
      assertThat(bench.fault(Fault.LEASE_EXPIRED)).isZero();
      assertThat(lease.state()).isEqualTo(LeaseState.DRAINING);
    }
  }

  @Test
  void aRestore_isDrainedOnce() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreRestore restore = bench.core.restore(session, bench.lease(session, CHAIN), 0);
      bench.core.enqueued(restore);
      assertThat(restore.state()).isEqualTo(RestoreState.ENQUEUED);
      assertThatThrownBy(() -> bench.core.enqueued(restore)).isInstanceOf(IllegalTransitionException.class);
      bench.core.drained(restore);
      assertThatThrownBy(() -> bench.core.drained(restore)).isInstanceOf(IllegalTransitionException.class);
      bench.check();
    }
  }

  @Test
  void leasesOfOnePrefix_keepItForOneAnother() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      bench.save(session, CHAIN);
      CoreLease one = bench.lease(session, CHAIN);
      CoreLease other = bench.lease(bench.attach(), CHAIN);
      bench.core.close(one);
      bench.evictAll();
      assertThat(bench.core.stats().blocksDram()).isEqualTo(4);
      bench.core.close(other);
      bench.evictAll();
      assertThat(bench.core.stats().blocksDram()).isZero();
    }
  }
}
