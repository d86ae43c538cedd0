package io.orbitkv.core.machine;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.lifecycle.TicketState;
import io.orbitkv.core.sim.ShardBytes;
import io.orbitkv.core.sim.SimDisk;
import io.orbitkv.core.sim.SimOrder;
import io.orbitkv.core.sim.SimPool;
import io.orbitkv.core.sim.SimStore;
import java.time.Duration;
import java.util.stream.IntStream;

/** A core on a bench: its memory, disk and clock are the test's, and what callers do is one call. */
final class CoreBench implements AutoCloseable {

  static final int SHARD_BYTES = 24;
  static final long TICKET_LIFE = 100;
  static final long LEASE_LIFE = 1_000;
  static final long FILL_LIFE = 500;

  /** Bytes of a block's record: of one rank on a bench with a store, of any on one without. */
  final long recordBytes;
  final SimDisk disk;
  SimPool pool;
  SimStore store;
  CacheCore core;
  long now = 1;
  private final int blocks;
  private final CoreLimits limits;

  private CoreBench(int blocks, SimDisk disk, CoreLimits limits, long recordBytes) {
    this.blocks = blocks;
    this.disk = disk;
    this.limits = limits;
    this.recordBytes = recordBytes;
    open();
  }

  /** Memory for so many blocks, all of which may be leased. */
  static CoreBench ofMemory(int blocks) {
    return ofMemory(blocks, limits(blocks * 4096L));
  }

  static CoreBench ofMemory(int blocks, CoreLimits limits) {
    return new CoreBench(blocks, null, limits, 4096);
  }

  /** Memory for so many blocks of one rank, and a disk of 8 segments of 16 such blocks. */
  static CoreBench withStore(int blocks) {
    long record = 2 * SimDisk.UNIT;
    return new CoreBench(blocks, new SimDisk(8, 32), limits(blocks * record), record);
  }

  /** Bounds that no test meets by accident. */
  static CoreLimits limits(long leaseBytes) {
    return new CoreLimits(leaseBytes, leaseBytes, Long.MAX_VALUE, 8, 8, 8, 8, 8, 4,
        Duration.ofNanos(TICKET_LIFE), Duration.ofNanos(LEASE_LIFE), Duration.ofNanos(FILL_LIFE));
  }

  private void open() {
    pool = new SimPool(blocks * recordBytes, disk == null ? 4096 : SimDisk.UNIT);
    store = disk == null ? null : new SimStore(disk, pool);
    core = new CacheCore(pool, new SimOrder(), store, limits, () -> now, 42);
    if (store != null) {
      core.recover();
      store.start(core::completed, pool.regions());
      core.storeStarted();
    }
  }

  /** A new process over the same disk. What was in flight is lost. */
  void restart() {
    core.close();
    open();
  }

  // ---- names

  /** A chain of as many blocks as there are tokens; chains share their equal leading tokens' blocks. */
  static PrefixChain chain(int... tokens) {
    return PrefixChain.ofTokens(tokens, 1);
  }

  static PrefixChain chainOf(int blocks) {
    return chain(IntStream.range(0, blocks).toArray());
  }

  static Namespace namespace(int model) {
    return Namespace.builder("bench", "1", Digest.ZERO).scope("model " + model).build();
  }

  CoreSession attach(int model, int ranks) {
    return core.attach(new SessionSpec("engine", namespace(model), new ShardLayout(ranks, SHARD_BYTES)));
  }

  /** An instance of one rank. */
  CoreSession attach() {
    return attach(0, 1);
  }

  // ---- what callers do

  /** Writes what a grant of rank {@code rank} wants and commits it; returns how many shards that were. */
  int fill(CoreSave save, int rank, PrefixChain chain) {
    int[] crcs = new int[save.blocks()];
    boolean[] copied = new boolean[save.blocks()];
    for (int i = 0; i < save.blocks(); i++) {
      int block = save.first() + i;
      if (save.wants(block)) {
        crcs[i] = ShardBytes.write(pool.slice(save.shardAt(block), SHARD_BYTES), 0, chain, block, rank);
        copied[i] = true;
      }
    }
    return core.commit(save, crcs, copied);
  }

  /** Saves the blocks of a chain from one on, all ranks. */
  void save(CoreSession session, PrefixChain chain, int from) {
    for (int rank = 0; rank < session.spec().layout().ranks(); rank++) {
      fill(core.reserve(session, rank, chain, from, chain.blocks()), rank, chain);
    }
    check();
  }

  void save(CoreSession session, PrefixChain chain) {
    save(session, chain, 0);
  }

  /** Asks for a chain of which something is in memory, and takes the lease. */
  CoreLease lease(CoreSession session, PrefixChain chain) {
    CoreTicket ticket = core.query(session, chain);
    assertThat(ticket.state()).isEqualTo(TicketState.READY);
    CoreLease lease = core.claim(ticket);
    check();
    return lease;
  }

  /** Returns how many blocks of a chain are served now, and gives the lease back. */
  int hit(CoreSession session, PrefixChain chain) {
    CoreTicket ticket = core.query(session, chain);
    if (ticket.isMiss()) {
      return 0;
    }
    assertThat(ticket.state()).isEqualTo(TicketState.READY);
    CoreLease lease = core.claim(ticket);
    core.close(lease);
    check();
    return lease.blocks();
  }

  /** Returns whether a restore has the bytes of its chain and rank. */
  boolean matches(CoreRestore restore, PrefixChain chain, int rank) {
    return IntStream.range(0, restore.blocks()).allMatch(block ->
        ShardBytes.matches(pool.slice(restore.shardAt(block), SHARD_BYTES), 0, chain, block, rank));
  }

  /** Puts out of memory everything that can leave. */
  void evictAll() {
    while (core.memory().evict() > 0) {
      check();
    }
  }

  /** Saves a chain, has it written, and puts it out of memory. */
  void store(CoreSession session, PrefixChain chain) {
    save(session, chain);
    store.completeAll();
    evictAll();
    assertThat(Inventory.resident(core, session, chain)).isZero();
    assertThat(Inventory.visible(core, session, chain)).isEqualTo(chain.blocks());
  }

  long fault(Fault fault) {
    return core.counters().count(fault);
  }

  void passTime(long nanos) {
    now += nanos;
    core.tick();
    check();
  }

  /** Checks all invariants, and that all memory in use has an owner. */
  void check() {
    assertThat(Invariants.check(core)).isEqualTo(pool.extents());
  }

  @Override
  public void close() {
    check();
    core.close();
  }
}
