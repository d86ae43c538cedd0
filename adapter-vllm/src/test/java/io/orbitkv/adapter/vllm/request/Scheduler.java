package io.orbitkv.adapter.vllm.request;

import io.orbitkv.core.lookup.SessionDepartures;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import io.orbitkv.api.Departures;
import io.orbitkv.api.PrefixChain;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/** Says what an engine's scheduler says, in blocks of {@value #BLOCK_TOKENS} tokens, and has a clock of its own. */
final class Scheduler {

  static final int BLOCK_TOKENS = 4;
  static final long BLOCK_BYTES = 100;
  static final long DEFER_NANOS = 1_000;
  static final PrefixChain NO_HASHES = PrefixChain.ofTokens(new int[0], 1);

  final FakeQuestions cache = new FakeQuestions();
  /** What the next plan is to tell. */
  Departures departures = SessionDepartures.none();
  final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 500);
  final Requests requests;

  Scheduler() {
    this(DEFER_NANOS, true, RequestLimits.DEFAULT);
  }

  Scheduler(long deferNanos, boolean saves, RequestLimits limits) {
    requests = new Requests(new SchedulerSpec(BLOCK_TOKENS, BLOCK_BYTES, deferNanos, saves), cache, this::heard, new Numbers(),
        now::get, new Random(1), limits);
  }

  private Departures heard() {
    Departures heard = departures;
    departures = SessionDepartures.none();
    return heard;
  }

  /** A chain of its own for each seed. */
  static PrefixChain chain(int seed, int blocks) {
    return PrefixChain.ofTokens(IntStream.range(seed * 1000, seed * 1000 + blocks).toArray(), 1);
  }

  static PrefixChain part(int seed, int from, int to) {
    PrefixChain whole = chain(seed, to);
    return PrefixChain.of(IntStream.range(from, to).mapToObj(whole::hash).toList());
  }

  /** Looks a request up that has just these blocks, and a token more. */
  SchedulerReply.Matched lookup(String request, int ownBlocks, PrefixChain chain) {
    return lookup(request, ownBlocks, chain.blocks() * BLOCK_TOKENS + 1, 0, chain);
  }

  SchedulerReply.Matched lookup(String request, int ownBlocks, int tokens, int known, PrefixChain more) {
    return requests.matched(new SchedulerRequest.Lookup(request, ownBlocks * BLOCK_TOKENS, tokens, known, more));
  }

  SchedulerReply.Plan allocate(String request, int externalTokens, int... pages) {
    return new Step().allocate(request, externalTokens, pages).plan();
  }

  SchedulerReply.Plan advance(String request, int tokens, int known, PrefixChain more, int firstPage, int... pages) {
    return new Step().advance(request, tokens, known, more, firstPage, pages).plan();
  }

  SchedulerReply.Plan preempt(String request) {
    Step step = new Step();
    step.preempted.add(request);
    return step.plan();
  }

  SchedulerReply.Plan finish(String request) {
    Step step = new Step();
    step.finished.add(request);
    return step.plan();
  }

  SchedulerReply.Plan saveEnded(long save, int blocks) {
    Step step = new Step();
    step.savesEnded.add(new SchedulerRequest.SaveEnded(save, blocks));
    return step.plan();
  }

  SchedulerReply.Plan loadEnded(String request, boolean loaded) {
    Step step = new Step();
    step.loadsEnded.add(new SchedulerRequest.LoadEnded(request, loaded));
    return step.plan();
  }

  long count(String name) {
    return requests.counters().getOrDefault(name, 0L);
  }

  /** One step, of several parts. */
  final class Step {
    final List<SchedulerRequest.Allocated> allocated = new ArrayList<>();
    final List<SchedulerRequest.Advanced> advanced = new ArrayList<>();
    final List<String> preempted = new ArrayList<>();
    final List<String> finished = new ArrayList<>();
    final List<SchedulerRequest.SaveEnded> savesEnded = new ArrayList<>();
    final List<SchedulerRequest.LoadEnded> loadsEnded = new ArrayList<>();
    int room = Integer.MAX_VALUE;

    Step allocate(String request, int externalTokens, int... pages) {
      allocated.add(new SchedulerRequest.Allocated(request, externalTokens, pages));
      return this;
    }

    Step advance(String request, int tokens, int known, PrefixChain more, int firstPage, int... pages) {
      advanced.add(new SchedulerRequest.Advanced(request, tokens, known, more, firstPage, pages));
      return this;
    }

    Step room(int pages) {
      room = pages;
      return this;
    }

    SchedulerReply.Plan plan() {
      return requests.plan(
          new SchedulerRequest.Step(allocated, advanced, preempted, finished, savesEnded, loadsEnded, room));
    }
  }
}
