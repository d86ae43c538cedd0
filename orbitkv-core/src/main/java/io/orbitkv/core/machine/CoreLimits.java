package io.orbitkv.core.machine;

import io.orbitkv.api.RefusedException;
import java.time.Duration;

/**
 * Bounds and deadlines of a cache. Every table, queue and wait has one.
 *
 * @param leaseBytes bytes that leases and pending reads may be charged with, over all sessions
 * @param sessionLeaseBytes the same for one session
 * @param sessionFillBytes bytes of blocks that ranks of one session are saving and that are not visible yet; one block
 *     may always be
 * @param sessions sessions at once
 * @param ticketsPerSession queries of a session that are not final
 * @param tickets queries of all sessions that are not final
 * @param leasesPerSession leases of a session
 * @param savesPerSession save grants of a session
 * @param writesInFlight extents being written to the SSD at once
 * @param ticketLife how long a query lives without being polled
 * @param leaseLife how long a lease lives without its last share being taken
 * @param fillLife how long a block waits for its ranks after the last grant ended
 */
public record CoreLimits(
    long leaseBytes,
    long sessionLeaseBytes,
    long sessionFillBytes,
    int sessions,
    int ticketsPerSession,
    int tickets,
    int leasesPerSession,
    int savesPerSession,
    int writesInFlight,
    Duration ticketLife,
    Duration leaseLife,
    Duration fillLife) {

  /** Checks that a session's budget fits in the whole. */
  public CoreLimits {
    if (sessionLeaseBytes < 1 || sessionLeaseBytes > leaseBytes) {
      throw new RefusedException("lease budget of a session is " + sessionLeaseBytes
          + " bytes, expected 1 to the budget of all, " + leaseBytes);
    }
  }

  /**
   * The bounds for a memory of some size: three quarters of it may be leased and all of it saved to, by one session or
   * many.
   *
   * @param memoryBytes the memory's capacity
   */
  public static CoreLimits of(long memoryBytes) {
    long lease = Math.max(1, memoryBytes / 4 * 3);
    return new CoreLimits(lease, lease, memoryBytes, 1024, 128, 1024, 1024, 1024, 16,
        Duration.ofSeconds(60), Duration.ofSeconds(600), Duration.ofSeconds(60));
  }

  /** Returns the same bounds with another lease budget. */
  public CoreLimits withLeaseBytes(long total) {
    return new CoreLimits(total, Math.min(total, sessionLeaseBytes == leaseBytes ? total : sessionLeaseBytes),
        sessionFillBytes, sessions, ticketsPerSession, tickets, leasesPerSession, savesPerSession, writesInFlight,
        ticketLife, leaseLife, fillLife);
  }

  /** Returns the same bounds with another lease budget for one session, at most that of all. */
  public CoreLimits withSessionLeaseBytes(long one) {
    return new CoreLimits(leaseBytes, Math.min(leaseBytes, one), sessionFillBytes, sessions, ticketsPerSession, tickets,
        leasesPerSession, savesPerSession, writesInFlight, ticketLife, leaseLife, fillLife);
  }

  /** Returns the same bounds with another budget for what one session is saving. */
  public CoreLimits withSessionFillBytes(long one) {
    return new CoreLimits(leaseBytes, sessionLeaseBytes, one, sessions, ticketsPerSession, tickets, leasesPerSession,
        savesPerSession, writesInFlight, ticketLife, leaseLife, fillLife);
  }
}
