package io.orbitkv.adapter.vllm.request;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Matched;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply.Standing;
import io.orbitkv.core.lookup.Finding;
import io.orbitkv.core.lookup.Questions;
import java.util.function.LongSupplier;

/** Answers lookups: asks the cache, defers for a bounded time, and holds what was found. */
final class Lookups {

  private static final Matched NONE = new Matched(Standing.NONE, 0);
  private static final Matched DEFER = new Matched(Standing.DEFER, 0);

  private final SchedulerSpec spec;
  private final Questions questions;
  private final LongSupplier clock;
  private final Tally tally;

  Lookups(SchedulerSpec spec, Questions questions, LongSupplier clock, Tally tally) {
    this.spec = spec;
    this.questions = questions;
    this.clock = clock;
    this.tally = tally;
  }

  /**
   * Answers for a request.
   *
   * @param ownBlocks whole blocks that the engine has itself
   * @param tokens tokens that may be answered for, those included
   * @param mayLoad whether one more load may be ordered
   */
  Matched answer(EngineRequest request, int ownBlocks, int tokens, boolean mayLoad, Generation generation) {
    if (request.state() == RequestState.LOADING) {
      // The engine asks only for what has nothing computed: its load has failed, and the report is on its way.
      request.loadFailed();
      return NONE;
    }
    if (request.state().hasPages()) {
      // It was preempted, and this is the first that is heard of it.
      request.preempted();
    }
    request.inquiry().asked(ownBlocks, tokens);
    int wanted = Math.min(request.chain().blocks(), tokens / spec.blockTokens());
    if (wanted <= ownBlocks || request.isUnloadable() || !mayLoad) {
      request.missed();
      return NONE;
    }
    return switch (request.state()) {
      case LEASED -> held(request, wanted);
      case DEFERRED -> look(request, wanted);
      default -> {
        if (request.inquiry().hasJustMissed(clock.getAsLong())) {
          yield NONE;
        }
        request.deferred(questions.ask(request.chain().names(0, wanted, generation)));
        yield look(request, wanted);
      }
    };
  }

  private Matched look(EngineRequest request, int wanted) {
    Finding finding = request.question().look();
    if (finding instanceof Finding.Open && request.inquiry().isOverdue(clock.getAsLong(), spec.deferNanos())) {
      request.question().settle();
      finding = request.question().look();
      if (finding instanceof Finding.Open) {
        finding = new Finding.Nothing("deferred_too_long");
      }
    }
    return switch (finding) {
      case Finding.Open _ -> {
        if (request.inquiry().deferred(clock.getAsLong(), spec.deferNanos())) {
          tally.add(Tally.Count.DEFERRALS, 1);
        }
        yield DEFER;
      }
      case Finding.Held held -> {
        request.held(held.hold());
        yield held(request, wanted);
      }
      case Finding.Nothing nothing -> {
        request.missed();
        request.inquiry().missed(clock.getAsLong());
        tally.missed(nothing.reason());
        yield NONE;
      }
    };
  }

  /** The lease stays with the request for as long as it is worth something. */
  private Matched held(EngineRequest request, int wanted) {
    int behind = Math.min(request.hold().blocks(), wanted) - request.inquiry().ownBlocks();
    if (behind <= 0) {
      request.missed();
      return NONE;
    }
    request.inquiry().answered(behind * spec.blockTokens());
    return new Matched(Standing.HIT, behind * spec.blockTokens());
  }
}
