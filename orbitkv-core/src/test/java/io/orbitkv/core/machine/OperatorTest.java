package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static io.orbitkv.core.machine.CoreBench.namespace;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.sim.SimStore;
import io.orbitkv.core.sim.SimStore.Kind;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class OperatorTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  @Nested
  class Evict {

    @Test
    void frees_whatIsAskedFor_leavesFirst() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        assertThat(bench.core.evictMemory(bench.recordBytes + 1)).isEqualTo(2 * bench.recordBytes);
        bench.check();
        assertThat(bench.hit(session, CHAIN)).isEqualTo(2);
        assertThat(bench.core.evictMemory(0)).isZero();
        assertThat(bench.hit(session, CHAIN)).isEqualTo(2);
      }
    }

    @Test
    void leavesWhatIsHeld() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        CoreLease lease = bench.lease(session, CHAIN.first(3));
        assertThat(bench.core.evictMemory(Long.MAX_VALUE)).isEqualTo(bench.recordBytes);
        bench.check();
        bench.core.close(lease);
        assertThat(bench.core.evictMemory(Long.MAX_VALUE)).isEqualTo(3 * bench.recordBytes);
        assertThat(bench.pool.extents()).isEmpty();
      }
    }

    @Test
    void leavesTheSsd() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        bench.store.completeAll();
        assertThat(bench.core.evictMemory(Long.MAX_VALUE)).isEqualTo(4 * bench.recordBytes);
        assertThat(Inventory.visible(bench.core, session, CHAIN)).isEqualTo(4);
      }
    }
  }

  @Nested
  class Drop {

    @Test
    void forgetsANamespace_inBothTiers_andNoOther() {
      try (CoreBench bench = CoreBench.withStore(16)) {
        CoreSession session = bench.attach();
        bench.store(session, CHAIN);
        bench.save(session, chain(9, 8));
        bench.store.completeAll();
        bench.core.close(session);
        CoreSession other = bench.attach(1, 1);
        bench.save(other, CHAIN);
        bench.store.completeAll();
        assertThat(bench.core.drop(namespace(0))).isEqualTo(6);
        bench.check();
        CoreSession successor = bench.attach();
        assertThat(bench.hit(successor, CHAIN)).isZero();
        assertThat(bench.hit(successor, chain(9, 8))).isZero();
        assertThat(bench.core.stats().blocksSsd()).isEqualTo(4);
        assertThat(bench.pool.extents()).hasSize(4);
        assertThat(bench.hit(other, CHAIN)).isEqualTo(4);
        bench.save(successor, CHAIN);
        bench.store.completeAll();
        assertThat(bench.hit(successor, CHAIN)).isEqualTo(4);
      }
    }

    @Test
    void ofAnUnknownNamespace_isNothing() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        assertThat(bench.core.drop(namespace(7))).isZero();
      }
    }

    @Test
    void isRefused_whileAnInstanceIsAttached_orHasGrants() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        assertThatThrownBy(() -> bench.core.drop(namespace(0)))
            .isInstanceOf(RefusedException.class).hasMessageContainingAll(namespace(0).toString(), "'engine'", "OPEN");
        assertThat(bench.hit(session, CHAIN)).isEqualTo(4);
        CoreSave save = bench.core.reserve(session, 0, chain(9), 0, 1);
        bench.core.close(session);
        assertThatThrownBy(() -> bench.core.drop(namespace(0)))
            .isInstanceOf(RefusedException.class).hasMessageContaining("CLOSING");
        bench.core.abort(save);
        assertThat(bench.core.drop(namespace(0))).isEqualTo(4);
      }
    }

    @Test
    void keepsMemoryThatTheSsdIsWrittenFrom_untilThatHasEnded() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach();
        bench.save(session, CHAIN);
        bench.store.complete(Kind.ACTIVATE, SimStore.AS_IT_IS);
        bench.core.close(session);
        assertThat(bench.store.pending(Kind.APPEND)).isEqualTo(4);
        assertThat(bench.core.drop(namespace(0))).isEqualTo(4);
        bench.check();
        assertThat(bench.hit(bench.attach(), CHAIN)).isZero();
        assertThat(bench.pool.extents()).hasSize(4);
        bench.store.completeAll();
        bench.check();
        assertThat(bench.pool.extents()).isEmpty();
        assertThat(bench.core.stats().blocksSsd()).isZero();
      }
    }

    @Test
    void forgetsBlocksOnTheirWay_whoseMemoryStaysTheReads() {
      try (CoreBench bench = CoreBench.withStore(8)) {
        CoreSession session = bench.attach(0, 1);
        bench.store(session, CHAIN);
        bench.core.query(session, CHAIN);
        bench.core.close(session);
        assertThat(bench.core.drop(namespace(0))).isEqualTo(4);
        bench.check();
        assertThat(bench.pool.extents()).hasSize(4);
        bench.store.completeAll();
        assertThat(bench.pool.extents()).isEmpty();
        assertThat(bench.hit(bench.attach(), CHAIN)).isZero();
      }
    }

    @Test
    void forgetsBlocksThatSomeRanksHaveCommitted() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        CoreSession session = bench.attach(0, 2);
        bench.fill(bench.core.reserve(session, 0, CHAIN, 0, 4), 0, CHAIN);
        bench.core.close(session);
        assertThat(bench.core.drop(namespace(0))).isEqualTo(4);
        assertThat(bench.pool.extents()).isEmpty();
        CoreSession successor = bench.attach(0, 2);
        assertThat(bench.core.reserve(successor, 1, CHAIN, 0, 4).wanted()).isEqualTo(4);
      }
    }

    @Test
    void keepsTheNamespacesLayout() {
      try (CoreBench bench = CoreBench.ofMemory(8)) {
        bench.core.close(bench.attach(0, 2));
        bench.core.drop(namespace(0));
        assertThatThrownBy(() -> bench.attach(0, 3)).isInstanceOf(RefusedException.class);
      }
    }
  }
}
