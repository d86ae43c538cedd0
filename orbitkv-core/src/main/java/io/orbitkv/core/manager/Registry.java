package io.orbitkv.core.manager;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.lifecycle.SessionState;
import io.orbitkv.core.machine.CacheCore;
import io.orbitkv.core.manager.ManagerStatus.InstanceStatus;
import io.orbitkv.core.manager.ManagerStatus.Quarantine;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Request;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Which engine instances there are, by name and generation, and which of their members are lost. Used in turns only.
 */
final class Registry {

  /** How many replaced incarnations of an instance are remembered, so that they do not replace their successors. */
  private static final int REPLACED_REMEMBERED = 16;

  /** Names of instances remembered with no generation left; the oldest are forgotten. */
  private static final int NAMES_REMEMBERED = 4096;

  /** What is known of one name. */
  private static final class Name {
    private Generation current;
    private final Deque<Long> replaced = new ArrayDeque<>();
  }

  /** A lost member that had grants. */
  private record Lost(Member member, long bytes, long sinceEpochMillis) {}

  private final CacheCore core;
  private final BiConsumer<Level, String> log;
  private final Map<String, Name> names = new HashMap<>();
  /** Every generation of which something is left, by number. */
  private final Map<Long, Generation> generations = new TreeMap<>();
  private final Map<Long, Lost> lost = new TreeMap<>();
  private long lastGeneration;

  /**
   * @param core called in the turns in which this is
   * @param log receives a line for each fault of a member; must not wait
   */
  Registry(CacheCore core, BiConsumer<Level, String> log) {
    this.core = core;
    this.log = log;
  }

  /**
   * Joins a member to the current generation of its instance, or begins the next one.
   *
   * @throws RefusedException if the instance has another shape, or a later start of it is here
   */
  Generation join(Request.Register register, SessionSpec spec) {
    int role = register.member();
    if (role < Protocol.ALL_RANKS || role >= spec.layout().ranks()) {
      throw new RefusedException("member " + role + " of instance '" + spec.instance() + "', expected rank 0 to "
          + (spec.layout().ranks() - 1) + ", " + Protocol.SCHEDULER + " for its scheduler or " + Protocol.ALL_RANKS
          + " for all ranks");
    }
    sweep();
    Name name = names.get(spec.instance());
    if (name != null && name.replaced.contains(register.incarnation())) {
      throw new RefusedException("incarnation " + register.incarnation() + " of instance '" + spec.instance()
          + "' was replaced by a later start of it; give two instances two names");
    }
    Generation current = name == null ? null : name.current;
    if (current != null && current.isLive() && current.incarnation() == register.incarnation()) {
      if (!current.spec().equals(spec)) {
        throw new RefusedException("instance '" + spec.instance() + "' is registered as " + shape(current.spec())
            + ", and a member of it states " + shape(spec) + "; its members must agree");
      }
      if (!current.overlaps(role)) {
        return current;
      }
    }
    // Whatever refuses the new one must leave the old one as it is.
    Generation next = new Generation(++lastGeneration, register.incarnation(), core.attach(spec));
    if (current != null) {
      replace(name, current, next);
    }
    if (name == null) {
      name = new Name();
      names.put(spec.instance(), name);
    }
    name.current = next;
    generations.put(next.number(), next);
    return next;
  }

  private void replace(Name name, Generation current, Generation next) {
    if (current.incarnation() != next.incarnation()) {
      name.replaced.addLast(current.incarnation());
      if (name.replaced.size() > REPLACED_REMEMBERED) {
        name.replaced.removeFirst();
      }
    }
    if (current.isLive()) {
      log.accept(Level.INFO, "instance '" + current.spec().instance() + "': generation " + current.number()
          + " is replaced by " + next.number());
      current.end(Generation.Ending.REPLACED);
      core.lose(current.session(), rank -> false);
    }
  }

  /** A member says that its instance leaves. */
  void leave(Generation generation) {
    generation.end(Generation.Ending.LEFT);
    core.close(generation.session());
    sweep();
  }

  /**
   * The connection of a member broke, or ended without a word.
   *
   * @param bytes memory that its grants may still be using, zero if it has none
   * @return whether it is quarantined until its death is proven
   */
  boolean broke(Member member, boolean holdsGrants, long bytes) {
    Generation generation = member.generation();
    if (generation.isLive()) {
      log.accept(Level.WARNING, "lost " + member + "; its instance has to register again");
      generation.end(Generation.Ending.BROKEN);
      core.lose(generation.session(), Generation.ranksOf(member.role()));
    } else if (holdsGrants) {
      core.lose(generation.session(), Generation.ranksOf(member.role()));
    }
    if (holdsGrants) {
      log.accept(Level.WARNING, member + " held grants when it was lost: " + bytes + " bytes wait in quarantine for "
          + member.proof().waitingFor());
      lost.put(member.number(), new Lost(member, bytes, System.currentTimeMillis()));
    }
    sweep();
    return holdsGrants;
  }

  /** Nothing of a lost member can touch memory any more: what it was granted is free. */
  void gone(Member member) {
    if (lost.remove(member.number()) != null) {
      log.accept(Level.INFO, member + " has nothing in use any more; what was quarantined for it is free");
      core.proveGone(member.generation().session(), Generation.ranksOf(member.role()));
      sweep();
    }
  }

  /** Returns the lost members whose grants are quarantined. */
  List<Member> lostMembers() {
    return lost.values().stream().map(Lost::member).toList();
  }

  /** Returns a lost member by its number, or null. */
  Member lostMember(long number) {
    Lost found = lost.get(number);
    return found == null ? null : found.member();
  }

  /** Ends every generation, at the Manager's end. */
  void closeAll() {
    generations.values().stream().filter(Generation::isLive).toList().forEach(this::leave);
  }

  /** Forgets generations of which nothing is left, and the oldest names without one. */
  private void sweep() {
    generations.values().removeIf(
        generation -> !generation.isLive() && generation.session().state() == SessionState.CLOSED);
    if (names.size() > NAMES_REMEMBERED) {
      names.values().removeIf(name -> !name.current.isLive());
    }
  }

  List<InstanceStatus> instances() {
    sweep();
    List<InstanceStatus> all = new ArrayList<>();
    for (Generation generation : generations.values()) {
      SessionSpec spec = generation.spec();
      all.add(new InstanceStatus(spec.instance(), spec.namespace(), generation.number(), spec.layout().ranks(),
          generation.ranksIn(), state(generation), generation.session().liveTickets(),
          generation.session().liveLeases(), generation.session().liveSaves(), generation.session().liveRestores(),
          generation.session().leasedBytes()));
    }
    return all;
  }

  private static String state(Generation generation) {
    return switch (generation.ending()) {
      case NONE -> generation.missing() > 0 ? "registering" : "open";
      case LEFT -> "closing";
      case REPLACED, BROKEN -> "lost";
    };
  }

  List<Quarantine> quarantine() {
    return lost.values().stream()
        .map(entry -> new Quarantine(entry.member().generation().spec().instance(), entry.member().role(),
            entry.member().process().pid(), entry.bytes(), entry.sinceEpochMillis(),
            entry.member().proof().waitingFor()))
        .toList();
  }

  private static String shape(SessionSpec spec) {
    return spec.layout().ranks() + " ranks of " + spec.layout().shardBytes() + " bytes a shard and "
        + spec.blockTokens() + " tokens a block in namespace " + spec.namespace();
  }
}
