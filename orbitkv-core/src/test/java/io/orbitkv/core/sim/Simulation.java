package io.orbitkv.core.sim;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.lifecycle.LeaseState;
import io.orbitkv.core.lifecycle.RestoreState;
import io.orbitkv.core.lifecycle.SaveState;
import io.orbitkv.core.lifecycle.SessionState;
import io.orbitkv.core.lifecycle.TicketState;
import io.orbitkv.core.machine.CacheCore;
import io.orbitkv.core.machine.CoreLease;
import io.orbitkv.core.machine.CoreLimits;
import io.orbitkv.core.machine.CoreRestore;
import io.orbitkv.core.machine.CoreSave;
import io.orbitkv.core.machine.CoreSession;
import io.orbitkv.core.machine.CoreTicket;
import io.orbitkv.core.machine.Invariants;
import io.orbitkv.core.machine.Invariants.Violation;
import io.orbitkv.core.machine.Inventory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/**
 * One run: a core, a memory, a disk and some engines, driven by one seed. Throws a {@link Violation} when anything is
 * not as it must be.
 */
final class Simulation {

  private static final int SHARD_BYTES = 24;
  private static final int MAX_DEPTH = 9;

  /** A save grant and how far its rank has got. */
  private static final class Saving {
    final CoreSave save;
    final PrefixChain chain;
    final long[] numbers;
    final boolean[] written;

    Saving(CoreSave save, PrefixChain chain, SimPool pool) {
      this.save = save;
      this.chain = chain;
      this.numbers = new long[save.blocks()];
      this.written = new boolean[save.blocks()];
      for (int i = 0; i < save.blocks(); i++) {
        if (save.wants(save.first() + i)) {
          numbers[i] = pool.numberAt(save.shardAt(save.first() + i));
        }
      }
    }
  }

  private record Restoring(CoreRestore restore, PrefixChain chain, int rank, Engine engine) {}

  private record Leased(CoreLease lease, PrefixChain chain, Engine engine) {}

  private record Asked(CoreTicket ticket, PrefixChain chain, Engine engine) {}

  private record Engine(CoreSession session, int model) {}

  private final RandomGenerator random;
  private final boolean withStore;
  private final boolean faulty;
  private final boolean readsFail;
  private final int ranks;
  private final SimDisk disk;
  private final List<Engine> engines = new ArrayList<>();
  private final List<Asked> asked = new ArrayList<>();
  private final List<Leased> leased = new ArrayList<>();
  private final List<Restoring> restoring = new ArrayList<>();
  private final List<Saving> saving = new ArrayList<>();
  private final List<Engine> lost = new ArrayList<>();
  /** Blocks of which every rank has committed its shard at least once. */
  private final Set<String> everSaved = new HashSet<>();
  private final Map<String, BitSet> ranksSaved = new HashMap<>();
  private SimPool pool;
  private SimStore store;
  private CacheCore core;
  private long now = 1;
  private final Map<String, Long> seen = new HashMap<>();

  Simulation(long seed) {
    random = RandomGeneratorFactory.<RandomGenerator>of("L64X128MixRandom").create(seed);
    withStore = random.nextInt(6) != 0;
    faulty = withStore && random.nextInt(2) == 0;
    ranks = 1 + random.nextInt(3);
    readsFail = faulty && random.nextInt(12) == 0;
    disk = new SimDisk(4 + random.nextInt(4), 8 + random.nextInt(17));
    start();
  }

  /** Returns what happened in the run, by name; a run in which nothing happens proves nothing. */
  Map<String, Long> seen() {
    return seen;
  }

  private void note() {
    CacheStats stats = core.stats();
    stats.faults().forEach((fault, count) -> seen.merge(fault, count, Long::sum));
    seen.merge("hit_dram", stats.blocksHitDram(), Long::sum);
    seen.merge("hit_ssd", stats.blocksHitSsd(), Long::sum);
    stats.missed().forEach((reason, count) -> seen.merge("missed_" + reason, count, Long::sum));
    seen.merge("ssd_" + stats.ssdHealth(), 1L, Long::sum);
    seen.merge("carried", Inventory.carried(core), Long::sum);
  }

  void run(int events) {
    for (int i = 0; i < events; i++) {
      step();
      check();
    }
    finish();
  }

  private void start() {
    int unit = withStore ? SimDisk.UNIT : 4096;
    pool = new SimPool((8L + random.nextInt(60)) * unit, unit);
    store = withStore ? new SimStore(disk, pool) : null;
    long lease = pool.capacityBytes() * (1 + random.nextInt(4)) / 4;
    CoreLimits limits = new CoreLimits(lease, Math.max(1, lease * (1 + random.nextInt(2)) / 2), 4, 3, 5, 6, 4,
        1 + random.nextInt(6), Duration.ofNanos(60), Duration.ofNanos(200), Duration.ofNanos(80));
    core = new CacheCore(pool, new SimOrder(random), store, limits, () -> now, random.nextLong());
    if (withStore) {
      core.recover();
      store.start(core::completed, pool.regions());
      core.storeStarted();
    }
    check();
  }

  private void check() {
    Set<Long> owned = Invariants.check(core);
    if (!owned.equals(pool.extents())) {
      throw new Violation("memory in use " + pool.extents() + ", owned " + owned);
    }
    for (Saving s : saving) {
      for (int i = 0; i < s.numbers.length; i++) {
        if (s.numbers[i] != 0 && pool.numberAt(s.save.shardAt(s.save.first() + i)) != s.numbers[i]) {
          throw new Violation("memory was given away under a save");
        }
      }
    }
    restoring.forEach(this::compare);
  }

  private void step() {
    now += random.nextInt(3);
    switch (random.nextInt(26)) {
      case 0 -> attach();
      case 1, 2, 3 -> query();
      case 4, 5 -> poll();
      case 6 -> cancel();
      case 7, 8 -> restore();
      case 9, 10 -> drain();
      case 11 -> closeLease();
      case 12, 13, 14 -> reserve();
      case 15, 16 -> write();
      case 17, 18, 19 -> endSave();
      case 20, 21, 22 -> complete();
      case 23 -> rare();
      default -> {
        complete();
        core.tick();
      }
    }
  }

  private void rare() {
    switch (random.nextInt(10)) {
      case 0 -> closeEngine();
      case 1 -> loseEngine();
      case 2, 3 -> proveGone();
      case 4 -> restart();
      case 5 -> crash();
      case 6 -> now += 100;
      case 7 -> damage();
      case 8 -> core.sealStore();
      default -> misuse();
    }
  }

  // ---- engines

  private void attach() {
    if (engines.size() >= 3) {
      return;
    }
    int model = random.nextInt(2);
    try {
      engines.add(new Engine(core.attach(new SessionSpec("engine", namespace(model), layout(model))), model));
    } catch (OrbitKvException e) {
      if (core.stats().dramCapacityBytes() >= 8 * 4096 || withStore) {
        // Only lost sessions that still hold something can fill the table.
        requireLost();
      }
    }
  }

  private void requireLost() {
    if (lost.isEmpty() && pool.capacityBytes() >= recordBytes(0)) {
      throw new Violation("an engine was refused without a reason");
    }
  }

  private long recordBytes(int model) {
    return withStore ? store.geometry().recordBytes(layout(model).blockBytes()) : 4096;
  }

  /** The second model has blocks of another size, so that memory and segments hold a mixture. */
  private ShardLayout layout(int model) {
    return new ShardLayout(ranks, SHARD_BYTES * (model + 1));
  }

  private static Namespace namespace(int model) {
    return Namespace.builder("simulated", "1", Digest.ZERO).scope("model " + model).build();
  }

  private void closeEngine() {
    Engine engine = pick(engines);
    if (engine != null) {
      engines.remove(engine);
      core.close(engine.session);
      forget(engine);
    }
  }

  private void loseEngine() {
    Engine engine = pick(engines);
    if (engine != null) {
      engines.remove(engine);
      core.lose(engine.session);
      lost.add(engine);
      forget(engine);
      // Its processes may go on writing and reading until they are proven gone: their memory must stay theirs.
    }
  }

  private void forget(Engine engine) {
    asked.removeIf(a -> a.engine == engine);
    leased.removeIf(l -> l.engine == engine);
  }

  private void proveGone() {
    Engine engine = pick(lost);
    if (engine != null) {
      lost.remove(engine);
      saving.removeIf(s -> s.save.state() == SaveState.QUARANTINED && isOf(s, engine));
      restoring.removeIf(r -> r.engine == engine);
      core.proveGone(engine.session);
    }
  }

  private boolean isOf(Saving s, Engine engine) {
    return savers.get(s) == engine;
  }

  private final Map<Saving, Engine> savers = new IdentityHashMap<>();

  // ---- queries

  /** Chains through a tree with few branches, so that prefixes meet. */
  private PrefixChain chain() {
    int depth = 1 + random.nextInt(MAX_DEPTH);
    int[] tokens = new int[depth];
    for (int i = 0; i < depth; i++) {
      tokens[i] = random.nextInt(5) == 0 ? 1 : 0;
    }
    return PrefixChain.ofTokens(tokens, 1);
  }

  private void query() {
    Engine engine = pick(engines);
    if (engine == null) {
      return;
    }
    PrefixChain chain = chain();
    asked.add(new Asked(core.query(engine.session, chain), chain, engine));
  }

  private void poll() {
    Asked a = pick(asked);
    if (a == null) {
      return;
    }
    core.polled(a.ticket);
    if (a.ticket.state() == TicketState.READY) {
      asked.remove(a);
      CoreLease lease = core.claim(a.ticket);
      for (int block = 0; block < lease.blocks(); block++) {
        if (!everSaved.contains(name(a.engine.model, a.chain, block))) {
          throw new Violation("block " + block + " of " + a.chain + " was never saved by all ranks");
        }
      }
      leased.add(new Leased(lease, a.chain, a.engine));
    } else if (a.ticket.state().isFinal()) {
      asked.remove(a);
    }
  }

  private void cancel() {
    Asked a = pick(asked);
    if (a != null) {
      asked.remove(a);
      core.cancel(a.ticket);
    }
  }

  // ---- leases and restores

  private void restore() {
    Leased l = pick(leased);
    if (l == null) {
      return;
    }
    int rank = random.nextInt(ranks);
    boolean taken = restoring.stream().anyMatch(r -> r.restore.state() != RestoreState.RETIRED
        && r.rank == rank && leaseOf(r) == l.lease);
    try {
      CoreRestore restore = core.restore(l.engine.session, l.lease, rank);
      if (taken) {
        throw new Violation("a rank took its share twice");
      }
      Restoring r = new Restoring(restore, l.chain, rank, l.engine);
      leaseOfRestore.put(r, l.lease);
      restoring.add(r);
    } catch (OrbitKvException e) {
      if (!taken && l.lease.state() == LeaseState.HELD && !drainedRanks.contains(l.lease.id() + "/" + rank)) {
        throw new Violation("a share was refused: " + e.getMessage());
      }
    }
    if (l.lease.state() != LeaseState.HELD) {
      leased.remove(l);
    }
  }

  private final Map<Restoring, CoreLease> leaseOfRestore = new IdentityHashMap<>();
  private final Set<String> drainedRanks = new HashSet<>();

  private CoreLease leaseOf(Restoring r) {
    return leaseOfRestore.get(r);
  }

  private void compare(Restoring r) {
    for (int block = 0; block < r.restore.blocks(); block++) {
      int bytes = layout(r.engine.model).shardBytes();
      MemorySegment shard = pool.slice(r.restore.shardAt(block), bytes);
      if (!matches(shard, r.engine.model, r.chain, block, r.rank)) {
        throw new Violation("wrong bytes in block " + block + " of " + r.chain + ", rank " + r.rank);
      }
      seen.merge("bytes_compared", (long) bytes, Long::sum);
    }
  }

  private void drain() {
    Restoring r = pick(restoring);
    if (r == null || r.restore.state() == RestoreState.QUARANTINED) {
      return;
    }
    if (r.restore.state() == RestoreState.GRANTED && random.nextBoolean()) {
      core.enqueued(r.restore);
      return;
    }
    restoring.remove(r);
    drainedRanks.add(leaseOf(r).id() + "/" + r.rank);
    core.drained(r.restore);
  }

  private void closeLease() {
    Leased l = pick(leased);
    if (l != null) {
      leased.remove(l);
      core.close(l.lease);
    }
  }

  // ---- saves

  private void reserve() {
    Engine engine = pick(engines);
    if (engine == null) {
      return;
    }
    PrefixChain chain = chain();
    int from = random.nextInt(3) == 0 ? random.nextInt(chain.blocks()) : 0;
    int rank = random.nextInt(ranks);
    CoreSave save = core.reserve(engine.session, rank, chain, from, chain.blocks());
    Saving s = new Saving(save, chain, pool);
    savers.put(s, engine);
    ranksOfSave.put(s, rank);
    saving.add(s);
    if (random.nextInt(3) != 0) {
      // Most saves are short, so that most blocks get all their ranks.
      writeAll(s);
      saving.remove(s);
      commit(s);
      for (int other = 0; other < ranks; other++) {
        if (other != rank) {
          CoreSave more = core.reserve(engine.session, other, chain, from, chain.blocks());
          Saving m = new Saving(more, chain, pool);
          savers.put(m, engine);
          ranksOfSave.put(m, other);
          writeAll(m);
          commit(m);
        }
      }
    }
  }

  private final Map<Saving, Integer> ranksOfSave = new IdentityHashMap<>();

  private void write() {
    Saving s = pick(saving);
    if (s != null && s.save.blocks() > 0) {
      write(s, random.nextInt(s.save.blocks()));
    }
  }

  private void writeAll(Saving s) {
    for (int i = 0; i < s.save.blocks(); i++) {
      write(s, i);
    }
  }

  private void write(Saving s, int i) {
    int block = s.save.first() + i;
    if (s.save.wants(block) && !s.written[i]) {
      int model = savers.get(s).model;
      MemorySegment shard = pool.slice(s.save.shardAt(block), layout(model).shardBytes());
      fill(shard, model, s.chain, block, ranksOfSave.get(s));
      s.written[i] = true;
    }
  }

  private void endSave() {
    Saving s = pick(saving);
    if (s == null || s.save.state() != SaveState.GRANTED) {
      return;
    }
    saving.remove(s);
    if (random.nextInt(4) == 0) {
      core.abort(s.save);
    } else {
      commit(s);
    }
  }

  private void commit(Saving s) {
    int[] crcs = new int[s.save.blocks()];
    for (int i = 0; i < crcs.length; i++) {
      crcs[i] = s.written[i] ? 7 * i + 1 : 0;
      if (s.written[i]) {
        String name = name(savers.get(s).model, s.chain, s.save.first() + i);
        BitSet saved = ranksSaved.computeIfAbsent(name, ignored -> new BitSet());
        saved.set(ranksOfSave.get(s));
        if (saved.cardinality() == ranks) {
          everSaved.add(name);
        }
      }
    }
    core.commit(s.save, crcs, s.written);
  }

  // ---- the store

  private void complete() {
    for (int i = random.nextInt(8); i >= 0 && withStore && store.pending() > 0; i--) {
      StoreStatus forced = SimStore.AS_IT_IS;
      if (faulty && random.nextInt(40) == 0) {
        forced = switch (random.nextInt(12)) {
          case 0 -> StoreStatus.NO_SPACE;
          case 1 -> StoreStatus.READ_ONLY;
          default -> StoreStatus.IO_ERROR;
        };
      }
      store.completeOne(random, forced, readsFail);
      check();
    }
  }

  private void damage() {
    if (!faulty) {
      return;
    }
    SimDisk.Segment segment = disk.segments[random.nextInt(disk.segments.length)];
    if (random.nextInt(3) == 0) {
      segment.extents.pollFirstEntry();
    } else {
      segment.extents.values().stream().skip(random.nextInt(4)).findFirst().ifPresent(extent -> extent.damaged = true);
    }
  }

  private void restart() {
    for (Engine engine : engines) {
      core.close(engine.session);
    }
    endGrants();
    settle();
    core.sealStore();
    settle();
    Set<String> stored = readable();
    reopen();
    if (!faulty) {
      requireFound(stored);
    }
  }

  private void crash() {
    Set<String> stored = readable();
    if (withStore) {
      store.crash(random);
    }
    reopen();
    if (!faulty) {
      requireFound(stored);
    }
  }

  private void reopen() {
    note();
    seen.merge("restarts", 1L, Long::sum);
    engines.clear();
    asked.clear();
    leased.clear();
    restoring.clear();
    saving.clear();
    lost.clear();
    core.close();
    start();
  }

  private Set<String> readable() {
    return withStore ? Inventory.readable(core) : Set.of();
  }

  private void requireFound(Set<String> stored) {
    Set<String> found = readable();
    for (String name : stored) {
      if (!found.contains(name)) {
        throw new Violation("block " + name + " was committed and is gone after a restart");
      }
    }
  }

  /** Ends every request of the store, as a disk without faults would. */
  private void settle() {
    for (int i = 0; withStore && store.pending() > 0; i++) {
      store.completeOne(random, SimStore.AS_IT_IS, readsFail);
      check();
      if (i > 20_000) {
        throw new Violation("the store is never done");
      }
    }
  }

  // ---- the end

  private void endGrants() {
    for (Restoring r : new ArrayList<>(restoring)) {
      if (r.restore.state() != RestoreState.QUARANTINED) {
        core.drained(r.restore);
      }
    }
    for (Saving s : saving) {
      if (s.save.state() == SaveState.GRANTED) {
        core.abort(s.save);
      }
    }
    for (Engine engine : lost) {
      if (core.stats().quarantinedBytes() == 0 && holdsSomething(engine)) {
        throw new Violation("a lost engine's grants are not counted as quarantined");
      }
    }
    lost.forEach(engine -> core.proveGone(engine.session));
    lost.clear();
    restoring.clear();
    saving.clear();
  }

  private boolean holdsSomething(Engine engine) {
    return restoring.stream().anyMatch(r -> r.engine == engine)
        || saving.stream().anyMatch(s -> savers.get(s) == engine && s.save.wanted() > 0);
  }

  private void finish() {
    for (Engine engine : engines) {
      core.close(engine.session);
      if (engine.session.state() == SessionState.OPEN) {
        throw new Violation("a closed session is open");
      }
    }
    endGrants();
    settle();
    now += 1_000;
    core.tick();
    settle();
    check();
    CacheStats stats = core.stats();
    if (stats.leasedBytes() != 0 || stats.quarantinedBytes() != 0 || core.grants() != 0) {
      throw new Violation("something is left after everybody is gone: " + stats);
    }
    if (!core.isWritten()) {
      throw new Violation("blocks wait to be written and nothing is under way: " + Inventory.describe(core));
    }
    note();
  }

  // ---- bytes

  private static String name(int model, PrefixChain chain, int block) {
    return namespace(model) + "/" + chain.hash(block).toHex();
  }

  private void misuse() {
    Engine engine = pick(engines);
    if (engine == null) {
      return;
    }
    try {
      core.query(engine.session, new QueryId(0, 0), chain());
      // The id was new, or live with the same chain.
    } catch (OrbitKvException e) {
      return;
    }
    asked.removeIf(a -> a.ticket.state().isFinal());
  }

  private static void fill(MemorySegment shard, int model, PrefixChain chain, int block, int rank) {
    for (long at = 0; at < shard.byteSize(); at += 8) {
      shard.set(ValueLayout.JAVA_LONG_UNALIGNED, at, word(model, chain, block, rank, at));
    }
  }

  private static boolean matches(MemorySegment shard, int model, PrefixChain chain, int block, int rank) {
    for (long at = 0; at < shard.byteSize(); at += 8) {
      if (shard.get(ValueLayout.JAVA_LONG_UNALIGNED, at) != word(model, chain, block, rank, at)) {
        return false;
      }
    }
    return true;
  }

  private static long word(int model, PrefixChain chain, int block, int rank, long at) {
    return chain.word(block, 1) + model * 31L + rank * 1_000_003L + at;
  }

  private <T> T pick(List<T> list) {
    return list.isEmpty() ? null : list.get(random.nextInt(list.size()));
  }
}
