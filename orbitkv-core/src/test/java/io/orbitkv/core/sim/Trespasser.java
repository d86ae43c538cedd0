package io.orbitkv.core.sim;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import io.orbitkv.core.lifecycle.TicketState;
import io.orbitkv.core.machine.CacheCore;
import io.orbitkv.core.machine.Invariants.Violation;
import io.orbitkv.core.sim.Simulation.Asked;
import io.orbitkv.core.sim.Simulation.Engine;
import io.orbitkv.core.sim.Simulation.Leased;
import io.orbitkv.core.sim.Simulation.Restoring;
import io.orbitkv.core.sim.Simulation.Saving;
import java.util.Set;

/** Does what callers must not do, and expects to be refused without a trace. */
final class Trespasser {

  private final Simulation sim;
  private final CacheCore core;
  private final SimPool pool;

  Trespasser(Simulation sim, CacheCore core, SimPool pool) {
    this.sim = sim;
    this.core = core;
    this.pool = pool;
  }

  /** Breaks one rule, if there is something to break it with. */
  void trespass() {
    switch (sim.random.nextInt(11)) {
      case 0 -> takeShareOfAnother();
      case 1 -> takeShareOfSpentLease();
      case 2 -> nameWrongRankOrRange();
      case 3 -> useGoneSession();
      case 4 -> changeLayout();
      case 5 -> reuseQueryId();
      case 6 -> endTwice();
      case 7 -> guessLease();
      case 8 -> endForALostRank();
      case 9 -> endForAProcessThatIsGone();
      default -> claimTooEarly();
    }
  }

  private void takeShareOfAnother() {
    Leased l = sim.pick(sim.leased);
    Engine other = sim.pick(sim.engines);
    if (l != null && other != null && other != l.engine()) {
      refused("a share of another session's lease", OrbitKvException.class,
          () -> core.restore(other.session(), l.lease(), sim.random.nextInt(sim.ranks)));
    }
  }

  private void takeShareOfSpentLease() {
    Leased l = sim.pick(sim.spent);
    if (l != null && sim.engines.contains(l.engine())) {
      refused("a share of a lease that has ended", OrbitKvException.class,
          () -> core.restore(l.engine().session(), l.lease(), sim.random.nextInt(sim.ranks)));
    }
  }

  private void nameWrongRankOrRange() {
    Engine engine = sim.pick(sim.engines);
    if (engine == null) {
      return;
    }
    PrefixChain chain = sim.chain();
    int blocks = chain.blocks();
    refused("a save of a rank that there is not", OrbitKvException.class,
        () -> core.reserve(engine.session(), sim.ranks, chain, 0, blocks));
    refused("a save past the end of its chain", OrbitKvException.class,
        () -> core.reserve(engine.session(), 0, chain, 0, blocks + 1));
    refused("a save from behind its end", OrbitKvException.class,
        () -> core.reserve(engine.session(), 0, chain, blocks, blocks - 1));
    Leased l = sim.pick(sim.leased);
    if (l != null) {
      refused("a restore of a rank that there is not", OrbitKvException.class,
          () -> core.restore(l.engine().session(), l.lease(), -1));
    }
  }

  private void useGoneSession() {
    Engine engine = sim.pick(sim.gone);
    if (engine == null) {
      return;
    }
    PrefixChain chain = sim.chain();
    refused("a query of a session that is gone", ClosedException.class, () -> core.query(engine.session(), chain));
    refused("a save of a session that is gone", ClosedException.class,
        () -> core.reserve(engine.session(), 0, chain, 0, chain.blocks()));
    Leased l = sim.pick(sim.spent);
    if (l != null && l.engine() == engine) {
      refused("a restore of a session that is gone", ClosedException.class,
          () -> core.restore(engine.session(), l.lease(), 0));
    }
  }

  private void changeLayout() {
    Engine engine = sim.pick(sim.engines);
    if (engine != null) {
      ShardLayout other = new ShardLayout(sim.ranks, Simulation.SHARD_BYTES / 2);
      refused("another layout under the same namespace", OrbitKvException.class, () ->
          core.attach(new SessionSpec("changed", Simulation.namespace(engine.model()), other)));
    }
  }

  private void reuseQueryId() {
    Asked a = sim.pick(sim.asked);
    if (a == null) {
      return;
    }
    QueryId id = a.ticket().id();
    if (a.ticket().state().isFinal()) {
      refused("an operation that has ended", OrbitKvException.class,
          () -> core.query(a.engine().session(), id, a.chain()));
      return;
    }
    if (core.query(a.engine().session(), id, a.chain()) != a.ticket()) {
      throw new Violation("the same id with the same chain does not poll");
    }
    PrefixChain longer = PrefixChain.ofTokens(new int[a.chain().blocks() + 1], 1);
    refused("the same id with another chain", OrbitKvException.class,
        () -> core.query(a.engine().session(), id, longer));
    if (id.revision() > 0) {
      refused("a lower revision", OrbitKvException.class,
          () -> core.query(a.engine().session(), new QueryId(id.operation(), id.revision() - 1), a.chain()));
    }
  }

  private void endTwice() {
    Restoring r = sim.drained;
    if (r != null) {
      refused("a second drain", IllegalTransitionException.class, () -> core.drained(r.restore()));
    }
    Saving s = sim.ended;
    if (s != null) {
      refused("a second commit", IllegalTransitionException.class, () -> core.commit(s.save, s.crcs, s.written));
      refused("an abort after the end", IllegalTransitionException.class, () -> core.abort(s.save));
    }
  }

  /** Leases have numbers one after another: the next ones are easy to guess. */
  private void guessLease() {
    Engine engine = sim.pick(sim.engines);
    long id = sim.random.nextInt(40);
    if (engine != null && sim.leased.stream().noneMatch(l -> l.engine() == engine && l.lease().id() == id)) {
      refused("a share of a lease that was not handed over", OrbitKvException.class,
          () -> core.restore(engine.session(), id, 0));
    }
  }

  private void endForALostRank() {
    for (Restoring r : sim.restoring) {
      if (r.engine().lostRanks().get(r.rank())) {
        refused("a drain by a lost rank", IllegalTransitionException.class, () -> core.drained(r.restore()));
      }
    }
    for (Saving s : sim.saving) {
      if (s.engine.lostRanks().get(s.rank) && s.save.wanted() > 0) {
        refused("a commit by a lost rank", IllegalTransitionException.class,
            () -> core.commit(s.save, s.crcs, s.written));
        refused("an abort by a lost rank", IllegalTransitionException.class, () -> core.abort(s.save));
      }
    }
  }

  private void endForAProcessThatIsGone() {
    Saving s = sim.provenSave;
    if (s != null) {
      refused("a commit that comes after the proof", IllegalTransitionException.class,
          () -> core.commit(s.save, s.crcs, s.written));
      refused("an abort that comes after the proof", IllegalTransitionException.class, () -> core.abort(s.save));
    }
    Restoring r = sim.provenRestore;
    if (r != null) {
      refused("a drain that comes after the proof", IllegalTransitionException.class, () -> core.drained(r.restore()));
    }
  }

  /** Drops a namespace of which an instance is attached. */
  void dropInUse(int model) {
    refused("a drop of a namespace in use", OrbitKvException.class, () -> core.drop(Simulation.namespace(model)));
  }

  private void claimTooEarly() {
    Asked a = sim.pick(sim.asked);
    if (a != null && a.ticket().state() != TicketState.READY) {
      refused("a claim of a query that is not ready", IllegalTransitionException.class, () -> core.claim(a.ticket()));
    }
  }

  private void refused(String what, Class<? extends RuntimeException> how, Runnable action) {
    CacheStats before = core.stats();
    Set<Long> extents = Set.copyOf(pool.extents());
    try {
      action.run();
    } catch (RuntimeException e) {
      if (!how.isInstance(e)) {
        throw e;
      }
      if (!before.equals(core.stats()) || !extents.equals(pool.extents())) {
        throw new Violation("a refusal left a trace: " + what + "; before " + before + ", after " + core.stats());
      }
      return;
    }
    throw new Violation("nothing refused " + what);
  }
}
