package io.orbitkv.core.client;

import io.orbitkv.api.RefusedException;
import io.orbitkv.core.wire.Protocol;
import java.security.SecureRandom;

/**
 * Which part of an engine instance a session is. The members of one start of an instance share its incarnation; a start
 * with another one replaces the instance.
 *
 * @param incarnation chosen at random by whoever starts the instance
 * @param member a rank, {@value #SCHEDULER} for the scheduler, which asks and transfers nothing, or {@value #ALL_RANKS}
 *     for a process that is all of it
 */
public record Membership(long incarnation, int member) {

  /** The member that asks. */
  public static final int SCHEDULER = Protocol.SCHEDULER;

  /** The member that is the scheduler and every rank. */
  public static final int ALL_RANKS = Protocol.ALL_RANKS;

  /** Checks the member. */
  public Membership {
    if (member < ALL_RANKS) {
      throw new RefusedException("member " + member + ", expected a rank from 0 on, " + SCHEDULER
          + " for the scheduler or " + ALL_RANKS + " for all ranks");
    }
  }

  /** Returns a membership of a process that is an instance by itself, with an incarnation of its own. */
  public static Membership whole() {
    return new Membership(newIncarnation(), ALL_RANKS);
  }

  /** Returns a number for one start of an instance. */
  public static long newIncarnation() {
    return new SecureRandom().nextLong();
  }
}
