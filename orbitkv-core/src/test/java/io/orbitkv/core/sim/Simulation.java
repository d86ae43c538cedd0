package io.orbitkv.core.sim;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.MissReason;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.IntStream;

/**
 * One run: a core, a memory, a disk and some engines, driven by one seed. Throws a {@link Violation} when anything is
 * not as it must be.
 */
final class Simulation implements AutoCloseable {

  static final int SHARD_BYTES = 24;
  private static final int BLOCK_TOKENS = 16;
  private static final int MAX_DEPTH = 9;
  private static final int MODELS = 3;
  private static final int MAX_SESSIONS = 4;
  private static final List<Namespace> NAMESPACES = IntStream.range(0, MODELS)
      .mapToObj(model -> Namespace.builder("simulated", "1", Digest.ZERO).scope("model " + model).build()).toList();
  private static final int MAX_WRITES_BESIDE_READS = 4;
  private static final Duration FILL_LIFE = Duration.ofNanos(120);

  /** A save grant and how far its rank has got. */
  static final class Saving {
    final Engine engine;
    final int rank;
    final CoreSave save;
    final PrefixChain chain;
    /** Of a wanted block the number of its memory's allocation, 0 of the others. */
    final long[] numbers;
    final boolean[] written;
    final int[] crcs;
    final long since;

    Saving(Engine engine, int rank, CoreSave save, PrefixChain chain, SimPool pool, long since) {
      this.since = since;
      this.engine = engine;
      this.rank = rank;
      this.save = save;
      this.chain = chain;
      this.crcs = new int[save.blocks()];
      this.numbers = new long[save.blocks()];
      this.written = new boolean[save.blocks()];
      for (int i = 0; i < save.blocks(); i++) {
        if (save.wants(save.first() + i)) {
          numbers[i] = pool.numberAt(save.shardAt(save.first() + i));
        }
      }
    }
  }

  record Restoring(CoreRestore restore, CoreLease lease, PrefixChain chain, int rank, Engine engine) {}

  /** A lease, and the ranks that took their shares. */
  record Leased(CoreLease lease, PrefixChain chain, Engine engine, BitSet taken) {}

  record Asked(CoreTicket ticket, PrefixChain chain, Engine engine) {}

  /** An instance, and those of its ranks that were lost. */
  record Engine(CoreSession session, int model, BitSet lostRanks) {}

  final RandomGenerator random;
  private final boolean withStore;
  private final boolean faulty;
  /** Whether the device fails every read at present. */
  private boolean readsFail;
  final int ranks;
  private final SimDisk disk;
  final List<Engine> engines = new ArrayList<>();
  final List<Asked> asked = new ArrayList<>();
  final List<Leased> leased = new ArrayList<>();
  /** Leases whose holders gave them up or took all shares. */
  final List<Leased> spent = new ArrayList<>();
  /** The grants that ended last; their holders might end them again. */
  Restoring drained;
  Saving ended;
  /** The last grant of a process that was proven gone after it was lost. */
  Restoring provenRestore;
  Saving provenSave;
  final List<Restoring> restoring = new ArrayList<>();
  final List<Saving> saving = new ArrayList<>();
  private final List<Engine> lost = new ArrayList<>();
  /** Engines that were closed or lost, and perhaps do not know it. */
  final List<Engine> gone = new ArrayList<>();
  /** Every query of the core's, and the leases of those that were hits: what its counters must say. */
  private final List<Asked> everAsked = new ArrayList<>();
  private final Map<CoreTicket, CoreLease> claimed = new IdentityHashMap<>();
  /** Blocks of which every rank has committed its shard at least once since they were dropped last. */
  private final Set<String> everSaved = new HashSet<>();
  /** Blocks that were dropped: a restart may find them again. */
  private final Set<String> everDropped = new HashSet<>();
  /** Bytes of the shards that ranks committed, and of those that they drained, since the core was made. */
  private long bytesSaved;
  private long bytesRestored;
  private final Map<String, BitSet> ranksSaved = new HashMap<>();
  /** Shards that a rank left half written. */
  private final Set<String> torn = new HashSet<>();
  private final Map<CoreSession, Follower> followers = new IdentityHashMap<>();
  private int checks;
  private SimPool pool;
  private SimStore store;
  private CacheCore core;
  private Trespasser trespasser;
  private long operations;
  private long now = 1;
  private final Map<String, Long> seen = new HashMap<>();

  Simulation(long seed) {
    random = RandomGeneratorFactory.<RandomGenerator>of("L64X128MixRandom").create(seed);
    withStore = random.nextInt(6) != 0;
    faulty = withStore && random.nextInt(2) == 0;
    ranks = 1 + random.nextInt(3);
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

  /** Gives back the table of the core, which is outside the heap and would pile up over thousands of runs. */
  @Override
  public void close() {
    core.close();
  }

  private void start() {
    readsFail = faulty && random.nextInt(6) == 0;
    int unit = withStore ? SimDisk.UNIT : 4096;
    pool = new SimPool((6L + random.nextInt(50)) * unit, unit);
    store = withStore ? new SimStore(disk, pool) : null;
    long lease = pool.capacityBytes() * (1 + random.nextInt(4)) / 4;
    CoreLimits limits = new CoreLimits(lease, Math.max(1, lease * (1 + random.nextInt(2)) / 2),
        pool.capacityBytes() * (1 + random.nextInt(4)) / 4, MAX_SESSIONS, 2 + random.nextInt(2), 3 + random.nextInt(3), 1 + random.nextInt(5), 2 + random.nextInt(3),
        1 + random.nextInt(6), Duration.ofNanos(60), FILL_LIFE, Duration.ofNanos(80));
    core = new CacheCore(pool, new SimOrder(random), store, limits, () -> now, random.nextLong());
    trespasser = new Trespasser(this, core, pool);
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
    follow();
    checkQuarantine();
    checkCounters();
  }

  /** One engine after the other is told which blocks have left. */
  private void follow() {
    if (checks++ % 3 == 0 && !engines.isEmpty()) {
      CoreSession session = engines.get(checks / 3 % engines.size()).session;
      if (session.state() == SessionState.OPEN) {
        followers.computeIfAbsent(session, each -> new Follower(core, each)).look();
      }
    }
  }

  /** The grants of lost ranks are quarantined, and of no others. */
  private void checkQuarantine() {
    for (Saving s : saving) {
      boolean lostRank = s.engine.lostRanks.get(s.rank) && s.save.wanted() > 0;
      if (lostRank != (s.save.state() == SaveState.QUARANTINED)) {
        throw new Violation("a save of rank " + s.rank + " is " + s.save.state() + ", lost are " + s.engine.lostRanks);
      }
    }
    for (Restoring r : restoring) {
      if (r.engine.lostRanks.get(r.rank) != (r.restore.state() == RestoreState.QUARANTINED)) {
        throw new Violation(
            "a restore of rank " + r.rank + " is " + r.restore.state() + ", lost are " + r.engine.lostRanks);
      }
    }
  }

  /** What the core counted must be what callers were told. */
  private void checkCounters() {
    long answered = 0;
    long blocks = 0;
    long dram = 0;
    long hit = 0;
    long tokens = 0;
    long tokensDram = 0;
    long tokensHit = 0;
    Map<MissReason, Long> missed = new EnumMap<>(MissReason.class);
    for (Asked a : everAsked) {
      if (a.ticket.state() != TicketState.DELIVERED) {
        continue;
      }
      CoreLease lease = claimed.get(a.ticket);
      int served = lease == null ? 0 : lease.blocks();
      answered++;
      blocks += a.chain.blocks();
      hit += served;
      int inMemory = lease == null ? 0 : a.ticket.hitInMemory();
      dram += inMemory;
      long blockTokens = a.engine.session.spec().blockTokens();
      tokens += blockTokens * a.chain.blocks();
      tokensDram += blockTokens * inMemory;
      tokensHit += blockTokens * served;
      if (served < a.chain.blocks()) {
        missed.merge(a.ticket.ending(), (long) a.chain.blocks() - served, Long::sum);
      }
    }
    CacheStats stats = core.stats();
    if (stats.queries() != answered || stats.blocksQueried() != blocks || stats.blocksHitDram() != dram
        || stats.blocksHitDram() + stats.blocksHitSsd() != hit || !stats.missed().equals(missed)) {
      throw new Violation("counted " + stats + ", and callers were told of " + answered + " answers, " + blocks
          + " blocks, " + dram + " in memory, " + hit + " hit, missed " + missed);
    }
    if (stats.tokensQueried() != tokens || stats.tokensHitDram() != tokensDram
        || stats.tokensHitDram() + stats.tokensHitSsd() != tokensHit) {
      throw new Violation("counted " + stats + ", and callers were told of " + tokens + " tokens, " + tokensDram
          + " in memory, " + tokensHit + " hit");
    }
    if (stats.bytesSaved() != bytesSaved || stats.bytesRestored() != bytesRestored) {
      throw new Violation("counted " + stats + ", and ranks committed " + bytesSaved + " bytes and drained "
          + bytesRestored);
    }
    long quarantined = lost.stream().mapToLong(this::quarantined).sum();
    if (stats.quarantinedBytes() != quarantined) {
      throw new Violation("lost engines hold " + quarantined + " bytes, counted " + stats.quarantinedBytes());
    }
  }

  private long quarantined(Engine engine) {
    long extents = saving.stream().filter(s -> s.engine == engine && engine.lostRanks.get(s.rank))
        .flatMapToLong(s -> Arrays.stream(s.numbers)).filter(number -> number != 0).distinct().count();
    long leases = restoring.stream().filter(r -> r.engine == engine && engine.lostRanks.get(r.rank))
        .map(Restoring::lease).distinct().mapToLong(CoreLease::bytes).sum();
    return extents * recordBytes(engine.model) + leases;
  }

  private void step() {
    now += random.nextInt(3);
    if (engines.isEmpty()) {
      attach();
    }
    switch (random.nextInt(28)) {
      case 0 -> attach();
      case 1, 2, 3 -> query();
      case 4, 5 -> poll();
      case 6 -> {
        if (random.nextInt(3) == 0) {
          trespass();
        } else {
          cancel();
        }
      }
      case 7, 8 -> restore();
      case 9, 10 -> drain();
      case 11 -> closeLease();
      case 12, 13, 14 -> reserve();
      case 15, 16 -> write();
      case 17, 18, 19 -> endSave();
      case 20, 21, 22 -> complete();
      case 23, 24 -> rare();
      default -> {
        complete();
        int writes = withStore ? Inventory.writes(core) : 0;
        core.tick();
        checkDemandFirst(writes);
        Invariants.checkDeadlines(core, now);
      }
    }
  }

  /** While somebody waits for a read, the device is not filled with writes. */
  private void checkDemandFirst(int writesBefore) {
    if (!withStore || Inventory.reads(core) == 0) {
      return;
    }
    int writes = Inventory.writes(core);
    if (writes > Math.max(writesBefore, MAX_WRITES_BESIDE_READS)) {
      throw new Violation(writesBefore + " writes beside reads became " + writes);
    }
  }

  private void rare() {
    switch (random.nextInt(16)) {
      case 0 -> closeEngine();
      case 1, 12 -> loseEngine();
      case 2, 3 -> proveGone();
      case 4 -> restart();
      case 5 -> crash();
      case 6, 7 -> now += 100;
      case 8, 9 -> damage();
      case 10 -> core.sealStore();
      case 13 -> evict();
      case 14 -> drop();
      case 15 -> writeAfterLoss();
      default -> trespass();
    }
  }

  private void trespass() {
    trespasser.trespass();
  }

  // ---- engines

  private void attach() {
    if (engines.size() >= 3) {
      return;
    }
    int model = random.nextInt(2) * random.nextInt(MODELS);
    boolean full = attached() >= MAX_SESSIONS;
    boolean large = recordBytes(model) > pool.capacityBytes();
    try {
      engines.add(new Engine(core.attach(new SessionSpec(
          "engine", namespace(model), layout(model), BLOCK_TOKENS * random.nextInt(2))), model, new BitSet()));
      if (full) {
        throw new Violation("more engines were attached than the bound");
      }
    } catch (OrbitKvException e) {
      if (!full && !large) {
        throw new Violation("an engine was refused without a reason: " + e.getMessage());
      }
    }
  }

  /** Engines that closed with grants outstanding and engines that were lost still count. */
  private long attached() {
    return engines.size() + gone.stream().filter(engine -> engine.session.state() != SessionState.CLOSED).count();
  }

  private long recordBytes(int model) {
    return withStore ? store.geometry().recordBytes(layout(model).blockBytes()) : 4096;
  }

  /**
   * The second model has blocks of another size, so that memory and segments hold a mixture; the third has blocks of
   * the first one's size, so that nothing but their names keeps them apart.
   */
  ShardLayout layout(int model) {
    return new ShardLayout(ranks, SHARD_BYTES * (model % 2 + 1));
  }

  static Namespace namespace(int model) {
    return NAMESPACES.get(model);
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
    Engine left = pick(gone);
    Engine engine = left != null && random.nextBoolean() ? left : pick(engines);
    if (engine == null) {
      return;
    }
    engines.remove(engine);
    if (!lost.contains(engine)) {
      lost.add(engine);
    }
    forget(engine);
    boolean over = engine.session.state() == SessionState.CLOSED;
    // Its processes may go on writing and reading until they are proven gone: their memory must stay theirs.
    if (random.nextBoolean()) {
      engine.lostRanks.set(0, ranks);
      core.lose(engine.session);
    } else {
      BitSet some = someRanks();
      engine.lostRanks.or(some);
      core.lose(engine.session, some::get);
    }
    if (!over) {
      seen.merge(engine.session.state() == SessionState.CLOSED ? "lost_idle" : "lost_with_grants", 1L, Long::sum);
    }
  }

  /** Returns some ranks, perhaps none: the process that was lost may have been the scheduler's. */
  private BitSet someRanks() {
    return BitSet.valueOf(new long[] {random.nextInt(1 << ranks)});
  }

  private void forget(Engine engine) {
    if (!gone.contains(engine)) {
      gone.add(engine);
    }
    asked.removeIf(a -> a.engine == engine);
    leased.removeIf(l -> l.engine == engine);
  }

  private void proveGone() {
    Engine engine = pick(lost);
    if (engine == null) {
      return;
    }
    BitSet proven = someRanks();
    if (random.nextBoolean()) {
      proven.set(0, ranks);
      core.proveGone(engine.session);
    } else {
      core.proveGone(engine.session, proven::get);
    }
    proven.and(engine.lostRanks);
    saving.stream().filter(s -> s.engine == engine && proven.get(s.rank) && s.save.wanted() > 0)
        .forEach(s -> provenSave = s);
    restoring.stream().filter(r -> r.engine == engine && proven.get(r.rank)).forEach(r -> provenRestore = r);
    saving.removeIf(s -> s.engine == engine && proven.get(s.rank));
    restoring.removeIf(r -> r.engine == engine && proven.get(r.rank));
    boolean left = saving.stream().anyMatch(s -> s.engine == engine && s.save.wanted() > 0)
        || restoring.stream().anyMatch(r -> r.engine == engine);
    if (left == (engine.session.state() == SessionState.CLOSED)) {
      throw new Violation("a lost session that has " + (left ? "grants" : "no grants") + " is "
          + engine.session.state());
    }
    if (!left) {
      lost.remove(engine);
    }
  }

  /** What a lost rank had under way still comes. */
  private void writeAfterLoss() {
    for (Saving s : saving) {
      if (s.save.state() == SaveState.QUARANTINED) {
        Arrays.fill(s.written, false);
        tear(s);
        seen.merge("wrote_after_loss", 1L, Long::sum);
      }
    }
  }

  // ---- an operator's orders

  private void evict() {
    long most = 0;
    for (int model = 0; model < MODELS; model++) {
      most = Math.max(most, recordBytes(model));
    }
    long asked = random.nextInt(4) * most / 2;
    long freed = core.evictMemory(asked);
    if (freed > 0 && freed >= asked + most) {
      throw new Violation(asked + " bytes were to be freed, and " + freed + " were");
    }
    seen.merge("evicted", freed, Long::sum);
  }

  private void drop() {
    int model = random.nextInt(2) * random.nextInt(MODELS);
    if (random.nextBoolean()) {
      // Left to chance, somebody would nearly always be attached.
      for (Engine engine : List.copyOf(engines)) {
        if (engine.model == model) {
          engines.remove(engine);
          core.close(engine.session);
          forget(engine);
        }
      }
    }
    if (engines.stream().anyMatch(engine -> engine.model == model)
        || gone.stream().anyMatch(engine -> engine.model == model && engine.session.state() != SessionState.CLOSED)) {
      trespasser.dropInUse(model);
      return;
    }
    long known = Inventory.blocks(core, namespace(model));
    long dropped = core.drop(namespace(model));
    if (dropped != known) {
      throw new Violation(known + " blocks of model " + model + " were known, and " + dropped + " dropped");
    }
    String names = namespace(model).toString();
    everSaved.stream().filter(name -> name.startsWith(names)).forEach(everDropped::add);
    everSaved.removeIf(name -> name.startsWith(names));
    ranksSaved.keySet().removeIf(name -> name.startsWith(names));
    seen.merge("dropped", dropped, Long::sum);
  }

  // ---- queries

  /** Chains through a tree with few branches, so that prefixes meet. */
  PrefixChain chain() {
    int depth = 1 + random.nextInt(MAX_DEPTH);
    int[] tokens = new int[depth];
    for (int i = 0; i < depth; i++) {
      tokens[i] = random.nextInt(5) == 0 ? 1 : 0;
    }
    // Several trees, so that one failed read does not take all there is.
    tokens[0] = random.nextInt(2) * random.nextInt(5);
    return PrefixChain.ofTokens(tokens, 1);
  }

  private void query() {
    Engine engine = pick(engines);
    if (engine == null) {
      return;
    }
    PrefixChain chain = chain();
    Asked earlier = pick(asked);
    if (earlier != null && random.nextInt(4) == 0) {
      replace(earlier, chain);
      return;
    }
    int visible = Inventory.visible(core, engine.session, chain);
    int resident = Inventory.resident(core, engine.session, chain);
    CoreTicket ticket = random.nextBoolean() ? core.query(engine.session, chain)
        : core.query(engine.session, new QueryId(operations += 100, random.nextInt(3)), chain);
    asked(ticket, chain, engine, visible, resident);
  }

  /** A prompt changed while its query was under way. */
  private void replace(Asked earlier, PrefixChain chain) {
    if (earlier.ticket.state().isFinal()) {
      return;
    }
    int visible = Inventory.visible(core, earlier.engine.session, chain);
    int resident = Inventory.resident(core, earlier.engine.session, chain);
    QueryId id = earlier.ticket.id();
    CoreTicket ticket = core.query(earlier.engine.session, new QueryId(id.operation(), id.revision() + 1), chain);
    if (earlier.ticket.state() != TicketState.CANCELLED) {
      throw new Violation("a replaced query is " + earlier.ticket.state());
    }
    asked.remove(earlier);
    asked(ticket, chain, earlier.engine, visible, resident);
  }

  private void asked(CoreTicket ticket, PrefixChain chain, Engine engine, int visible, int resident) {
    Asked a = new Asked(ticket, chain, engine);
    asked.add(a);
    everAsked.add(a);
    int hopes = ticket.hitInMemory() + ticket.missing();
    boolean cut = ticket.ending() == MissReason.OVER_BUDGET || ticket.ending() == MissReason.NO_MEMORY;
    if (ticket.state() != TicketState.BUSY && (cut ? hopes > visible : hopes != visible)) {
      throw new Violation(visible + " blocks of " + chain + " are stored, and " + hopes + " are to be served");
    }
    if (ticket.state() == TicketState.PENDING && resident >= hopes) {
      throw new Violation("a query waits for blocks that are all in memory");
    }
    if (random.nextInt(3) != 0) {
      // Most callers look at once, or the tables would be full of answers that nobody fetched.
      complete();
      poll(a);
    }
  }

  private void poll() {
    Asked a = pick(asked);
    if (a != null) {
      poll(a);
    }
  }

  private void poll(Asked a) {
    core.polled(a.ticket);
    if (a.ticket.state() == TicketState.READY) {
      asked.remove(a);
      CoreLease lease = core.claim(a.ticket);
      claimed.put(a.ticket, lease);
      for (int block = 0; block < lease.blocks(); block++) {
        if (!everSaved.contains(name(a.engine.model, a.chain, block))) {
          throw new Violation("block " + block + " of " + a.chain + " was never saved by all ranks");
        }
      }
      leased.add(new Leased(lease, a.chain, a.engine, new BitSet()));
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
    boolean taken = l.taken.get(rank);
    try {
      CoreRestore restore = random.nextBoolean() ? core.restore(l.engine.session, l.lease, rank)
          : core.restore(l.engine.session, l.lease.id(), rank);
      if (taken) {
        throw new Violation("a rank took its share twice");
      }
      l.taken.set(rank);
      restoring.add(new Restoring(restore, l.lease, l.chain, rank, l.engine));
    } catch (OrbitKvException e) {
      if (!taken && l.lease.state() == LeaseState.HELD) {
        throw new Violation("a share was refused: " + e.getMessage());
      }
    }
    if (l.lease.state() != LeaseState.HELD) {
      leased.remove(l);
      spent.add(l);
    }
  }

  private void compare(Restoring r) {
    for (int block = 0; block < r.restore.blocks(); block++) {
      int bytes = layout(r.engine.model).shardBytes();
      MemorySegment shard = pool.slice(r.restore.shardAt(block), bytes);
      if (!ShardBytes.matches(shard, r.engine.model, r.chain, block, r.rank)) {
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
    drained(r);
    drained = r;
  }

  private void drained(Restoring r) {
    core.drained(r.restore);
    bytesRestored += (long) r.restore.blocks() * layout(r.engine.model).shardBytes();
  }

  private void closeLease() {
    Leased l = pick(leased);
    if (l != null) {
      leased.remove(l);
      spent.add(l);
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
    Saving s = reserve(engine, rank, chain, from);
    saving.add(s);
    if (random.nextInt(3) != 0) {
      // Most saves are short, so that most blocks get all their ranks.
      writeAll(s);
      saving.remove(s);
      commit(s);
      for (int other = 0; other < ranks; other++) {
        if (other != rank) {
          Saving more = reserve(engine, other, chain, from);
          writeAll(more);
          commit(more);
        }
      }
    }
  }

  private Saving reserve(Engine engine, int rank, PrefixChain chain, int from) {
    return new Saving(engine, rank, core.reserve(engine.session, rank, chain, from, chain.blocks()), chain, pool, now);
  }

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
      int model = s.engine.model;
      MemorySegment shard = pool.slice(s.save.shardAt(block), layout(model).shardBytes());
      s.crcs[i] = ShardBytes.write(shard, model, s.chain, block, s.rank);
      s.written[i] = true;
    }
  }

  private void endSave() {
    Saving s = pick(saving);
    if (s == null || s.save.state() != SaveState.GRANTED) {
      return;
    }
    saving.remove(s);
    ended = s;
    if (now - s.since > FILL_LIFE.toNanos()) {
      seen.merge("save_acknowledged_late", 1L, Long::sum);
    }
    if (random.nextInt(4) == 0) {
      Arrays.fill(s.written, false);
      tear(s);
      seen.merge("save_cancelled", 1L, Long::sum);
      core.abort(s.save);
    } else {
      tear(s);
      commit(s);
    }
  }

  /**
   * A rank leaves neither old bytes nor new ones in the shards that it has not copied: their pages' transfer ended
   * badly, or the pages were taken from it on the way.
   */
  private void tear(Saving s) {
    for (int i = 0; i < s.numbers.length; i++) {
      if (s.numbers[i] != 0 && !s.written[i]) {
        pool.slice(s.save.shardAt(s.save.first() + i), layout(s.engine.model).shardBytes())
            .fill((byte) random.nextInt());
        torn.add(shard(s, i));
      }
    }
  }

  private static String shard(Saving s, int i) {
    return name(s.engine.model, s.chain, s.save.first() + i) + "/" + s.rank;
  }

  private void commit(Saving s) {
    int shards = 0;
    for (int i = 0; i < s.written.length; i++) {
      if (s.written[i]) {
        shards++;
        if (torn.remove(shard(s, i))) {
          seen.merge("saved_after_it_was_torn", 1L, Long::sum);
        }
        String name = name(s.engine.model, s.chain, s.save.first() + i);
        BitSet saved = ranksSaved.computeIfAbsent(name, ignored -> new BitSet());
        saved.set(s.rank);
        if (saved.cardinality() == ranks) {
          everSaved.add(name);
        }
      }
    }
    if (shards > 0 && shards < s.save.wanted()) {
      seen.merge("save_submitted_in_part", 1L, Long::sum);
    }
    int committed = core.commit(s.save, s.crcs, s.written);
    bytesSaved += (long) committed * layout(s.engine.model).shardBytes();
    if (committed != shards) {
      throw new Violation(shards + " shards were written and " + committed + " committed");
    }
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
      int writes = Inventory.writes(core);
      store.completeOne(random, forced, readsFail);
      checkDemandFirst(writes);
      check();
    }
  }

  private void damage() {
    if (!faulty) {
      return;
    }
    SimDisk.Segment segment = disk.segments[random.nextInt(disk.segments.length)];
    for (SimDisk.Extent extent : segment.extents.values()) {
      if (random.nextInt(3) == 0) {
        extent.damaged = true;
        extent.lost = random.nextInt(3) == 0;
      }
    }
    if (random.nextInt(3) == 0) {
      outage();
    }
  }

  /** The device fails every read for a while, perhaps after a crash, and callers go on asking. */
  private void outage() {
    if (random.nextBoolean()) {
      crash();
    }
    readsFail = true;
    for (int i = 0; i < 12; i++) {
      attach();
      query();
      complete();
      check();
    }
    readsFail = random.nextBoolean();
  }

  private void restart() {
    for (Engine engine : engines) {
      core.close(engine.session);
    }
    endGrants();
    settle();
    core.sealStore();
    settle();
    Set<String> stored = stored();
    reopen();
    if (!faulty) {
      requireFound(stored);
    }
  }

  private void crash() {
    Set<String> stored = stored();
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
    List.of(engines, asked, leased, restoring, saving, lost, gone, everAsked, spent).forEach(List::clear);
    claimed.clear();
    followers.clear();
    drained = null;
    ended = null;
    provenSave = null;
    provenRestore = null;
    torn.clear();
    bytesSaved = 0;
    bytesRestored = 0;
    everSaved.addAll(everDropped);
    everDropped.clear();
    core.close();
    start();
    readable().forEach((name, place) -> {
      if (disk.youngest(name) != place) {
        throw new Violation("block " + name + " was recovered at " + place + ", its youngest copy is at "
            + disk.youngest(name));
      }
    });
  }

  private Map<String, Long> readable() {
    return withStore ? Inventory.readable(core) : Map.of();
  }

  /** Returns the names of the blocks that the core says are on the disk, after a look at the disk. */
  private Set<String> stored() {
    Map<String, Long> readable = readable();
    readable.forEach((name, place) -> {
      if (!disk.isReported(place)) {
        throw new Violation("block " + name + " counts as written at " + place + ", where no write ended well");
      }
    });
    return readable.keySet();
  }

  private void requireFound(Set<String> stored) {
    Set<String> found = readable().keySet();
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
        drained(r);
      }
    }
    for (Saving s : saving) {
      if (s.save.state() == SaveState.GRANTED) {
        core.abort(s.save);
      }
    }
    lost.forEach(engine -> core.proveGone(engine.session));
    lost.clear();
    restoring.clear();
    saving.clear();
  }

  private void finish() {
    settle();
    for (Asked a : asked) {
      if (a.ticket.state() == TicketState.PENDING) {
        throw new Violation("a query waits for ever");
      }
    }
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
    stored();
    note();
  }

  private static String name(int model, PrefixChain chain, int block) {
    return namespace(model) + "/" + chain.hash(block).toHex();
  }

  <T> T pick(List<T> list) {
    return list.isEmpty() ? null : list.get(random.nextInt(list.size()));
  }
}
