package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static io.orbitkv.core.machine.CoreBench.namespace;
import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.core.sim.SimStore;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RecoveryTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  private static ExtentHeader header(Namespace namespace, PrefixChain chain, int block, int shards) {
    return new ExtentHeader(namespace, 0, chain.hash(block), block == 0 ? Digest.ZERO : chain.hash(block - 1), block,
        CoreBench.SHARD_BYTES, new int[shards]);
  }

  private static ExtentHeader header(PrefixChain chain, int block) {
    return header(namespace(0), chain, block, 1);
  }

  private static long place(int segment, int offset) {
    return (long) segment << 32 | offset;
  }

  private static String name(PrefixChain chain, int block) {
    return namespace(0) + "/" + chain.hash(block).toHex();
  }

  @Test
  void aRestart_isWarm() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.store(bench.attach(), CHAIN);
      for (boolean sealed : new boolean[] {false, true}) {
        if (sealed) {
          bench.core.sealStore();
          bench.store.completeAll();
        }
        bench.restart();
        bench.store.completeAll();
        bench.check();
        CoreSession session = bench.attach();
        assertThat(bench.core.stats().blocksSsd()).isEqualTo(4);
        CoreTicket ticket = bench.core.query(session, CHAIN);
        bench.store.completeAll();
        CoreRestore restore = bench.core.restore(session, bench.core.claim(ticket), 0);
        assertThat(restore.blocks()).isEqualTo(4);
        assertThat(bench.matches(restore, CHAIN, 0)).isTrue();
        assertThat(bench.hit(bench.attach(1, 1), CHAIN)).as("in another namespace").isZero();
      }
    }
  }

  @Test
  void aRestart_servesEveryRank() {
    try (CoreBench bench = CoreBench.withStore(16)) {
      bench.store(bench.attach(0, 3), CHAIN);
      bench.core.sealStore();
      bench.store.completeAll();
      bench.restart();
      CoreSession session = bench.attach(0, 3);
      CoreTicket ticket = bench.core.query(session, CHAIN);
      bench.store.completeAll();
      CoreLease lease = bench.core.claim(ticket);
      for (int rank = 0; rank < 3; rank++) {
        assertThat(bench.matches(bench.core.restore(session, lease, rank), CHAIN, rank)).isTrue();
      }
    }
  }

  @Test
  void childrenFoundBeforeTheirParents_areLinked() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.disk.put(0, 1, 0, header(CHAIN, 3));
      bench.disk.put(0, 1, 2, header(CHAIN, 1));
      bench.disk.put(1, 2, 0, header(CHAIN, 0));
      bench.disk.put(1, 2, 2, header(CHAIN, 2));
      bench.restart();
      bench.check();
      assertThat(Inventory.visible(bench.core, bench.attach(), CHAIN)).isEqualTo(4);
    }
  }

  @Test
  void ofTwoCopies_theOneInTheYoungerSegmentWins() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.disk.put(0, 7, 4, header(CHAIN, 0));
      bench.disk.put(1, 5, 0, header(CHAIN, 0));
      bench.disk.put(2, 6, 2, header(CHAIN, 0));
      bench.restart();
      bench.check();
      assertThat(Inventory.readable(bench.core)).isEqualTo(Map.of(name(CHAIN, 0), place(0, 4)));
      assertThat(bench.core.stats().blocksSsd()).isOne();
      assertThat(bench.core.stats().ssdBytes()).isEqualTo(bench.recordBytes);
    }
  }

  @Test
  void ofTwoCopiesInOneSegment_theLaterWins() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.disk.put(0, 1, 0, header(CHAIN, 0));
      bench.disk.put(0, 1, 2, header(CHAIN, 1));
      bench.disk.put(0, 1, 4, header(CHAIN, 0));
      bench.restart();
      bench.check();
      assertThat(Inventory.readable(bench.core))
          .isEqualTo(Map.of(name(CHAIN, 0), place(0, 4), name(CHAIN, 1), place(0, 2)));
    }
  }

  @Test
  void blocksWhoseAncestorsAreNotAllThere_areDroppedAndCounted() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.disk.put(0, 1, 0, header(CHAIN, 0));
      bench.disk.put(0, 1, 2, header(CHAIN, 2));
      bench.disk.put(0, 1, 4, header(CHAIN, 3));
      bench.restart();
      bench.check();
      assertThat(bench.core.stats().blocksSsd()).isOne();
      assertThat(bench.fault(Fault.RECOVERY_ORPHAN)).isEqualTo(2);
    }
  }

  @Test
  void aBlockWhoseDepthContradictsItsParents_isAnOrphan() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.disk.put(0, 1, 0, header(CHAIN, 0));
      bench.disk.put(0, 1, 2, new ExtentHeader(
          namespace(0), 0, CHAIN.hash(1), CHAIN.hash(0), 2, CoreBench.SHARD_BYTES, new int[1]));
      // A block that says it comes before itself.
      bench.disk.put(0, 1, 4, new ExtentHeader(
          namespace(0), 0, CHAIN.hash(2), CHAIN.hash(2), 5, CoreBench.SHARD_BYTES, new int[1]));
      bench.restart();
      bench.check();
      assertThat(bench.core.stats().blocksSsd()).isOne();
      assertThat(bench.fault(Fault.RECOVERY_ORPHAN)).isEqualTo(2);
    }
  }

  @Test
  void blocksOfAnotherLayoutThanTheFirst_areLeftOutAndCounted() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.disk.put(0, 1, 0, header(CHAIN, 0));
      bench.disk.put(0, 1, 2, header(namespace(0), CHAIN, 1, 2));
      bench.restart();
      bench.check();
      assertThat(bench.fault(Fault.RECOVERY_LAYOUT)).isOne();
      assertThat(Inventory.visible(bench.core, bench.attach(), CHAIN)).isOne();
    }
  }

  @Test
  void segmentsLeftHalfFilled_areSealedBeforeAnythingElse() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.store(bench.attach(), CHAIN);
      bench.restart();
      assertThat(bench.store.pending(SimStore.Kind.SEAL)).isOne();
      bench.store.completeAll();
      bench.store(bench.attach(), chain(9, 8));
      assertThat(bench.core.stats().blocksSsd()).isEqualTo(6);
    }
  }

  @Test
  void whatWasNeverWritten_isGone() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      bench.store(bench.attach(), CHAIN.first(2));
      bench.save(bench.attach(), chain(9, 8));
      bench.restart();
      assertThat(bench.core.stats().blocksSsd()).isEqualTo(2);
      assertThat(bench.core.stats().blocksDram()).isZero();
      assertThat(Inventory.visible(bench.core, bench.attach(), chain(9, 8))).isZero();
    }
  }
}
