package io.orbitkv.core.manager;

import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.machine.CoreSession;
import io.orbitkv.core.wire.Protocol;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntPredicate;

/** One registration of an engine instance: its members, and the core's session that they share. Used in turns only. */
final class Generation {

  /** Why a generation admits nothing any more. */
  enum Ending {
    /** It has not ended. */
    NONE,
    /** A member said that the instance leaves. */
    LEFT,
    /** A later registration took its place. */
    REPLACED,
    /** The connection of a member broke. */
    BROKEN
  }

  private final long number;
  private final long incarnation;
  private final CoreSession session;
  private final List<Member> members = new ArrayList<>();
  /** Taken by a member's connection before its turn. It is no part of the state that turns guard. */
  private final Lock gate = new ReentrantLock();
  private Ending ending = Ending.NONE;

  Generation(long number, long incarnation, CoreSession session) {
    this.number = number;
    this.incarnation = incarnation;
    this.session = session;
  }

  long number() {
    return number;
  }

  long incarnation() {
    return incarnation;
  }

  CoreSession session() {
    return session;
  }

  /**
   * Returns what members wait at for each other before they wait for a turn: so an instance with many connections has no
   * more threads that wait for turns than one with a single connection.
   */
  Lock gate() {
    return gate;
  }

  SessionSpec spec() {
    return session.spec();
  }

  Ending ending() {
    return ending;
  }

  boolean isLive() {
    return ending == Ending.NONE;
  }

  void end(Ending why) {
    ending = why;
  }

  void add(Member member) {
    members.add(member);
  }

  /** Returns whether a member would be in it twice. */
  boolean overlaps(int role) {
    return members.stream().anyMatch(member -> role == Protocol.ALL_RANKS || member.role() == Protocol.ALL_RANKS
        || member.role() == role);
  }

  /** Returns how many ranks are in. */
  int ranksIn() {
    int in = 0;
    for (Member member : members) {
      in += switch (member.role()) {
        case Protocol.ALL_RANKS -> spec().layout().ranks();
        case Protocol.SCHEDULER -> 0;
        default -> 1;
      };
    }
    return in;
  }

  /** Returns how many ranks are not in yet; it serves when none is missing. */
  int missing() {
    return spec().layout().ranks() - ranksIn();
  }

  /** Returns which ranks a member is. */
  static IntPredicate ranksOf(int role) {
    return switch (role) {
      case Protocol.ALL_RANKS -> rank -> true;
      case Protocol.SCHEDULER -> rank -> false;
      default -> rank -> rank == role;
    };
  }
}
