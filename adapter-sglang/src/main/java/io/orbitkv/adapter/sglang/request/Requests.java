package io.orbitkv.adapter.sglang.request;

import io.orbitkv.adapter.sglang.protocol.LinkerReply.Matched;
import io.orbitkv.adapter.sglang.protocol.LinkerReply.Standing;
import io.orbitkv.adapter.sglang.protocol.LinkerRequest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.lookup.Finding;
import io.orbitkv.core.lookup.Hold;
import io.orbitkv.core.lookup.Question;
import io.orbitkv.core.lookup.Questions;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Answers the lookups of all ranks of one engine: the first rank that asks about a chain has the cache asked, and every
 * other is told the same. What was found is held until each rank that asked has given it up.
 *
 * <p>Thread-safe.
 */
public final class Requests implements AutoCloseable {

  /** The engine asks about a waiting request in every pass, and what was not stored a moment ago is not stored now. */
  static final long MISS_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /**
   * A rank asks right before it loads, so what nobody asked about for so long is not about to be loaded. Loads under
   * way have shares of their own.
   */
  static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** The same for one about which there is nothing: ranks do not give it up. */
  static final long MISSED_IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How often those are looked for. */
  private static final long SWEEP_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Most requests, and most hashes of all of them: 64 MiB. */
  static final int MAX_REQUESTS = 8192;

  static final long MAX_HASHES = 1L << 21;

  private static final Matched NONE = new Matched(Standing.NONE, 0, 0);
  private static final Matched PENDING = new Matched(Standing.PENDING, 0, 0);
  private static final Matched UNKNOWN = new Matched(Standing.UNKNOWN, 0, 0);

  private final Questions questions;
  private final Optional<SlidingWindow> window;
  private final long pendingNanos;
  private final LongSupplier clock;
  private final Tally tally = new Tally();
  private final Map<String, EngineRequest> requests = new HashMap<>();
  private long hashes;
  private long sweptNanos;
  private boolean closed;

  /**
   * Holds nothing yet.
   *
   * @param questions asks the cache; used by one thread at a time
   * @param window what must be there beside a prefix, of a model with sliding windows
   * @param pendingNanos how long a request may wait for the SSD
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public Requests(Questions questions, Optional<SlidingWindow> window, long pendingNanos, LongSupplier clock) {
    this.questions = questions;
    this.window = window;
    this.pendingNanos = pendingNanos;
    this.clock = clock;
    this.sweptNanos = clock.getAsLong();
  }

  /**
   * Answers a rank. Waits for a cache that answers at once, and no longer.
   *
   * @throws RefusedException if the lookup contradicts itself
   */
  public synchronized Matched matched(int rank, LinkerRequest.Lookup lookup) {
    int blocks = lookup.chain().blocks();
    if (lookup.ownBlocks() < 0 || blocks > 0
        && (lookup.ownBlocks() >= blocks || !lookup.chain().hash(blocks - 1).equals(lookup.last()))) {
      throw new RefusedException("lookup of request '" + lookup.request() + "' states " + lookup.ownBlocks()
          + " blocks of its own and a " + lookup.chain() + ", which is to end with " + lookup.last()
          + " and to be longer");
    }
    if (closed) {
      return NONE;
    }
    long now = clock.getAsLong();
    expire(now);
    EngineRequest request = requests.get(lookup.request());
    if (request != null && !(request.isOf(lookup.last()) && isEnough(request, lookup.ownBlocks()))) {
      // It has another tail, or less of its own, so what was found for it before is of no use to any rank.
      requests.remove(lookup.request());
      end(request);
      request = null;
    }
    if (request == null) {
      if (blocks == 0) {
        return UNKNOWN;
      }
      if (requests.size() >= MAX_REQUESTS || hashes + blocks > MAX_HASHES) {
        tally.add(Tally.Count.TABLE_FULL, 1);
        return NONE;
      }
      request = new EngineRequest(lookup.chain(), lookup.ownBlocks(), this::ask, now);
      hashes += blocks;
      tally.add(Tally.Count.QUERIES, 1);
      requests.put(lookup.request(), request);
    }
    request.renew(rank, now);
    Matched answer = answer(request, lookup.ownBlocks(), now);
    // A rank that was told that there is nothing does not come back for it.
    if (answer.standing() == Standing.NONE && request.giveUp(rank) && request.state() == RequestState.HELD) {
      requests.remove(lookup.request());
      end(request);
    }
    return answer;
  }

  private Question ask(PrefixChain chain, int ownBlocks) {
    Question prefix = questions.ask(chain);
    return window.<Question>map(of -> new WindowedQuestion(chain, ownBlocks, prefix, of)).orElse(prefix);
  }

  /** Of the window, only blocks behind the engine's own are held. When it loses some of those, more are needed. */
  private boolean isEnough(EngineRequest request, int ownBlocks) {
    return window.isEmpty() || request.state() == RequestState.MISSED || ownBlocks >= request.ownBlocks();
  }

  private Matched answer(EngineRequest request, int ownBlocks, long now) {
    return switch (request.state()) {
      case HELD -> held(request, ownBlocks);
      case ASKING -> look(request, ownBlocks, now);
      case MISSED -> {
        if (request.missedNanos(now) < MISS_NANOS) {
          yield NONE;
        }
        request.ask(ownBlocks, now);
        tally.add(Tally.Count.QUERIES, 1);
        yield look(request, ownBlocks, now);
      }
      case GONE -> throw new IllegalStateException("a request that has ended is in the table");
    };
  }

  private Matched look(EngineRequest request, int ownBlocks, long now) {
    Finding finding = request.look();
    if (finding instanceof Finding.Open && request.askingNanos(now) >= pendingNanos) {
      finding = request.settle();
      if (finding instanceof Finding.Open) {
        finding = new Finding.Nothing("pending_too_long");
      }
    }
    return switch (finding) {
      case Finding.Open _ -> {
        tally.add(Tally.Count.PENDING_ANSWERS, 1);
        yield PENDING;
      }
      case Finding.Held held -> {
        request.hold(held.hold());
        tally.add(Tally.Count.HITS, 1);
        tally.add(Tally.Count.HIT_BLOCKS, held.hold().blocks());
        if (held.hold() instanceof WindowedHold windowed) {
          tally.add(Tally.Count.CUT_BLOCKS, windowed.cutBlocks());
        }
        yield held(request, ownBlocks);
      }
      case Finding.Nothing nothing -> {
        request.miss(now);
        tally.missed(nothing.reason());
        yield NONE;
      }
    };
  }

  private static Matched held(EngineRequest request, int ownBlocks) {
    Hold hold = request.hold();
    int behind = hold.blocks() - ownBlocks;
    if (behind <= 0) {
      return NONE;
    }
    List<Long> leases = hold instanceof WindowedHold windowed ? windowed.window(ownBlocks) : List.of();
    return new Matched(Standing.HIT, behind, hold.lease(), leases);
  }

  /** A rank is not interested any more. A lease of an earlier attempt of the request is not taken for this one's. */
  public synchronized void giveUp(int rank, LinkerRequest.GiveUp giveUp) {
    EngineRequest request = requests.get(giveUp.request());
    if (request == null) {
      return;
    }
    long lease = request.hold() == null ? 0 : request.hold().lease();
    if ((giveUp.lease() == 0 || giveUp.lease() == lease) && request.giveUp(rank)) {
      requests.remove(giveUp.request());
      end(request);
    }
  }

  /** A rank has left: it is interested in nothing any more. */
  public synchronized void left(int rank) {
    for (Iterator<EngineRequest> each = requests.values().iterator(); each.hasNext(); ) {
      EngineRequest request = each.next();
      if (request.giveUp(rank)) {
        each.remove();
        end(request);
      }
    }
  }

  private void expire(long now) {
    if (now - sweptNanos < SWEEP_NANOS) {
      return;
    }
    sweptNanos = now;
    for (Iterator<EngineRequest> each = requests.values().iterator(); each.hasNext(); ) {
      EngineRequest request = each.next();
      boolean missed = request.state() == RequestState.MISSED;
      if (request.idleNanos(now) >= (missed ? MISSED_IDLE_NANOS : IDLE_NANOS)) {
        each.remove();
        end(request);
        tally.add(Tally.Count.EXPIRED, missed ? 0 : 1);
      }
    }
  }

  private void end(EngineRequest request) {
    hashes -= request.chain().blocks();
    request.end();
  }

  /** Returns counts by name, and what is now. */
  public synchronized Map<String, Long> counters() {
    expire(clock.getAsLong());
    Map<String, Long> values = tally.values();
    values.put("requests", (long) requests.size());
    values.put("leases", requests.values().stream().filter(each -> each.state() == RequestState.HELD).count());
    return values;
  }

  /** Gives everything up, and answers nothing from now on. Idempotent. */
  @Override
  public synchronized void close() {
    closed = true;
    requests.values().forEach(this::end);
    requests.clear();
  }
}
