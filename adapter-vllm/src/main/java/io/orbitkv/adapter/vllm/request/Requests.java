package io.orbitkv.adapter.vllm.request;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import io.orbitkv.api.Departures;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.lookup.Questions;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * The requests of one scheduler, from its first word to its last. Every message is answered from what is known: only a
 * lookup may wait for the cache, and only as long as {@link Questions} let it. A message about a request that is not
 * known, or that makes no sense for it, leaves that request without a cache and disturbs no other.
 *
 * <p>Used by one thread.
 */
public final class Requests implements AutoCloseable {

  private final SchedulerSpec spec;
  private final Numbers numbers;
  private final RandomGenerator random;
  private final RequestLimits limits;
  private final Tally tally = new Tally();
  private final RequestTable table;
  private final SaveTable saves;
  private final Lookups lookups;
  private final Supplier<Departures> departures;
  /** Requests that may have blocks to save, those that have waited longest first. */
  private final SequencedSet<EngineRequest> unsaved = new LinkedHashSet<>();
  /** Of the next plan. */
  private Orders orders = new Orders();
  private Generation generation = Generation.FIRST;
  private int loads;

  /**
   * Begins with no request.
   *
   * @param spec what the scheduler stated
   * @param questions asks the cache
   * @param departures what has been heard of blocks that left the cache, each time anew
   * @param numbers for saves and series
   * @param clock nanoseconds, as {@link System#nanoTime}
   * @param random for masks of generations; nobody can guess it
   */
  public Requests(SchedulerSpec spec, Questions questions, Supplier<Departures> departures, Numbers numbers,
      LongSupplier clock, RandomGenerator random) {
    this(spec, questions, departures, numbers, clock, random, RequestLimits.DEFAULT);
  }

  Requests(SchedulerSpec spec, Questions questions, Supplier<Departures> departures, Numbers numbers,
      LongSupplier clock, RandomGenerator random, RequestLimits limits) {
    this.spec = spec;
    this.departures = departures;
    this.numbers = numbers;
    this.random = random;
    this.limits = limits;
    this.table = new RequestTable(limits, tally);
    this.saves = new SaveTable(limits.saves());
    this.lookups = new Lookups(spec, questions, clock, tally);
  }

  // ---- lookups

  /**
   * Answers a lookup.
   *
   * @throws RefusedException if its numbers make no sense; nothing was changed
   */
  public SchedulerReply.Matched matched(SchedulerRequest.Lookup asked) {
    if (asked.computedTokens() < 0 || asked.totalTokens() < 0 || asked.computedTokens() % spec.blockTokens() != 0) {
      throw new RefusedException("lookup of '" + asked.request() + "' states " + asked.computedTokens()
          + " computed tokens of " + asked.totalTokens() + ", expected a multiple of " + spec.blockTokens());
    }
    Optional<EngineRequest> request = take(asked.request(), asked.known(), asked.hashes());
    return request.isEmpty()
        ? new SchedulerReply.Matched(SchedulerReply.Standing.NONE, 0)
        : lookups.answer(request.get(), asked.computedTokens() / spec.blockTokens(), asked.totalTokens(),
            loads < limits.loads(), generation);
  }

  /** Returns a request, also a new one. One whose chain is not what it was is another: what is known is dropped. */
  private Optional<EngineRequest> take(String id, int known, PrefixChain hashes) {
    Optional<EngineRequest> request = table.take(id, known, hashes);
    if (request.isEmpty()) {
      table.find(id).ifPresent(this::finished);
    }
    return request;
  }

  // ---- steps

  /** Takes what the engine decided and what workers reported, and returns what workers are to do. */
  public SchedulerReply.Plan plan(SchedulerRequest.Step step) {
    step.savesEnded().forEach(this::saveEnded);
    step.loadsEnded().forEach(this::loadEnded);
    step.preempted().forEach(this::preempted);
    step.finished().forEach(id -> table.find(id).ifPresent(this::finished));
    step.allocated().forEach(this::allocated);
    step.advanced().forEach(this::advanced);
    save(step.room());
    SchedulerReply.Plan plan = orders.plan(generation.hashes(departures.get()));
    orders = new Orders();
    return plan;
  }

  private void saveEnded(SchedulerRequest.SaveEnded ended) {
    Optional<SaveTable.Ordered> found = saves.remove(ended.save());
    if (found.isEmpty()) {
      return;
    }
    SaveTable.Ordered save = found.get();
    int committed = Math.clamp(ended.blocks(), 0, save.blocks());
    tally.add(Tally.Count.SAVED_BLOCKS, committed);
    tally.add(Tally.Count.SAVED_BYTES, committed * spec.blockBytes());
    if (committed == save.blocks()) {
      orders.stored(ended.save());
    }
    save.request().saveEnded();
    drainIfOver(save.request());
  }

  private void loadEnded(SchedulerRequest.LoadEnded ended) {
    Optional<EngineRequest> found = table.find(ended.request())
        .filter(EngineRequest::isLoading)
        .or(() -> table.findLoading(ended.request()));
    if (found.isEmpty()) {
      return;
    }
    EngineRequest request = found.get();
    int blocks = request.loadEnded(ended.loaded());
    loads--;
    if (ended.loaded()) {
      tally.add(Tally.Count.LOADED_BLOCKS, blocks);
      tally.add(Tally.Count.LOADED_BYTES, blocks * spec.blockBytes());
    } else {
      tally.add(Tally.Count.LOADS_FAILED, 1);
    }
    table.loadEnded(request);
    drainIfOver(request);
  }

  private void finished(EngineRequest request) {
    if (unsaved.remove(request)) {
      tally.add(Tally.Count.UNSAVED_BLOCKS, request.cursor().behind());
    }
    request.finished();
    table.forget(request);
    drainIfOver(request);
  }

  private void drainIfOver(EngineRequest request) {
    if (request.state() == RequestState.ENDING && !request.hasOrders()) {
      request.drained();
      if (request.series() != 0) {
        orders.seriesEnded(request.series());
      }
    }
  }

  /** One that waits, or is loaded, has nothing to lose: a lookup since then has said as much. */
  private void preempted(String id) {
    table.find(id).filter(request -> request.state().hasPages()).ifPresent(EngineRequest::preempted);
  }

  private void allocated(SchedulerRequest.Allocated allocated) {
    Optional<EngineRequest> found = table.take(allocated.request());
    if (found.isEmpty()) {
      return;
    }
    EngineRequest request = found.get();
    Inquiry inquiry = request.inquiry();
    if (inquiry.isAsked()) {
      tally.add(Tally.Count.QUERIED_TOKENS,
          Math.max(0, inquiry.tokens() - (long) inquiry.ownBlocks() * spec.blockTokens()));
    }
    if (allocated.externalTokens() > 0) {
      load(request, allocated);
    } else if (request.state() != RequestState.LOADING) {
      if (request.state() == RequestState.COMPUTING) {
        // Pages are given to what has none: it has lost those of before.
        request.givenPages(request.pages().agreeWith(allocated.pages()));
      }
      request.computing();
      request.pages().replace(allocated.pages());
    }
  }

  /** Orders what the engine was told that it can load. If that is not there any more, the engine hears of no load. */
  private void load(EngineRequest request, SchedulerRequest.Allocated allocated) {
    Inquiry inquiry = request.inquiry();
    int blocks = allocated.externalTokens() / spec.blockTokens();
    int first = inquiry.ownBlocks();
    if (request.state() != RequestState.LEASED || allocated.externalTokens() > inquiry.answeredTokens()
        || allocated.externalTokens() % spec.blockTokens() != 0 || first + blocks > allocated.pages().length) {
      tally.add(Tally.Count.LOADS_FAILED, 1);
      if (request.state().isAsked()) {
        request.missed();
      }
      request.loadFailed();
      return;
    }
    request.loading(blocks);
    request.pages().replace(allocated.pages());
    loads++;
    tally.add(Tally.Count.LOADS, 1);
    tally.add(Tally.Count.HIT_TOKENS, allocated.externalTokens());
    orders.load(new SchedulerReply.Load(request.id(), request.hold().lease(), first,
        request.pages().range(first, first + blocks)));
  }

  private void advanced(SchedulerRequest.Advanced advanced) {
    Optional<EngineRequest> found = take(advanced.request(), advanced.known(), advanced.hashes());
    if (found.isEmpty()) {
      return;
    }
    EngineRequest request = found.get();
    if (request.state() == RequestState.LOADING) {
      return;
    }
    request.computing();
    if (request.pages().extend(advanced.firstPage(), advanced.pages()) && request.isSavable() && spec.saves()) {
      complete(request, advanced.computedTokens());
    }
  }

  /**
   * Notes what is complete: whole blocks whose tokens are computed when the step has run, and whose hashes are known,
   * since the engine hashes confirmed tokens only.
   */
  private void complete(EngineRequest request, int computedTokens) {
    int named = Math.min(request.chain().blocks(), request.pages().count());
    request.cursor().completeTo(Math.min(computedTokens / spec.blockTokens(), named));
    unsaved.add(request);
  }

  /**
   * Orders to save what is complete and not saved, as far as there is room. The rest is ordered in later steps, for as
   * long as the request has its pages: a block that is left out is missed by every block behind it.
   */
  private void save(int room) {
    int left = room;
    Iterator<EngineRequest> waiting = unsaved.iterator();
    while (waiting.hasNext()) {
      EngineRequest request = waiting.next();
      while (request.isSavable() && request.cursor().behind() > 0) {
        int blocks = Math.min(Math.min(request.cursor().behind(), limits.saveBlocks()), left);
        if (blocks <= 0 || saves.isFull()) {
          tally.add(Tally.Count.SAVES_POSTPONED, 1);
          return;
        }
        order(request, blocks);
        left -= blocks;
      }
      waiting.remove();
    }
  }

  private void order(EngineRequest request, int blocks) {
    SaveCursor cursor = request.cursor();
    int from = cursor.next();
    int to = from + blocks;
    int known = Math.min(cursor.stated(), to);
    long series = request.series() == 0 ? numbers.next() : request.series();
    long number = numbers.next();
    orders.save(new SchedulerReply.Save(number, request.id(), series, known,
        request.chain().names(known, to, generation), from, request.pages().range(from, to)));
    saves.add(number, new SaveTable.Ordered(request, blocks));
    request.saveOrdered(series);
    cursor.savedTo(to);
    tally.add(Tally.Count.SAVES, 1);
  }

  // ---- resets

  /**
   * Begins the next generation, unless something is under way under the names of the present one.
   *
   * @return whether it began; if not, nothing was changed
   */
  public boolean reset() {
    boolean busy = loads > 0 || !saves.isEmpty()
        || table.all().stream().anyMatch(request -> request.state() == RequestState.DEFERRED);
    if (busy) {
      tally.add(Tally.Count.RESETS_REFUSED, 1);
      return false;
    }
    generation = generation.next(random);
    table.all().forEach(EngineRequest::renamed);
    tally.add(Tally.Count.RESETS, 1);
    return true;
  }

  /** Returns what was counted, and how much is under way now. */
  public Map<String, Long> counters() {
    Map<String, Long> values = tally.values();
    values.put("requests", (long) table.size());
    values.put("loads_under_way", (long) loads);
    values.put("saves_under_way", (long) saves.size());
    values.put("generation", (long) generation.number());
    return values;
  }

  /** Gives up all that is asked and held. What workers were ordered is theirs. Idempotent. */
  @Override
  public void close() {
    table.clear();
    unsaved.clear();
    saves.clear();
    loads = 0;
  }
}
