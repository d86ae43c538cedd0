package io.orbitkv.core.manager;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Namespace;
import java.util.List;

/**
 * What a Manager is doing at one moment.
 *
 * @param incarnation a number that differs from the Manager's earlier and later starts
 * @param software name and version, as "orbitkv 0.1.0"
 * @param startedAtEpochMillis when it was started
 * @param ready whether it serves: open, recovered, and not draining
 * @param degraded why it serves less than it was set up for, a reason each in words, as "SSD is read-only: no space
 *     left"; empty if nothing is wrong
 * @param draining whether it was told to admit nothing new
 * @param cache counters since its start, and sizes
 * @param instances the engine instances, by name and generation; a lost one until nothing of it is left
 * @param quarantine what lost members left, by instance and rank
 * @param coreEventP99Nanos 99th percentile of the time that an event of the core took, in nanoseconds, since the start;
 *     zero before the first
 * @param coreEvents events of the core since the start
 */
public record ManagerStatus(
    long incarnation,
    String software,
    long startedAtEpochMillis,
    boolean ready,
    List<String> degraded,
    boolean draining,
    CacheStats cache,
    List<InstanceStatus> instances,
    List<Quarantine> quarantine,
    long coreEventP99Nanos,
    long coreEvents) {

  /** Copies the lists. */
  public ManagerStatus {
    degraded = List.copyOf(degraded);
    instances = List.copyOf(instances);
    quarantine = List.copyOf(quarantine);
  }

  /**
   * One registration of an engine instance.
   *
   * @param name its name
   * @param namespace what its bytes mean; instances with another share nothing with it
   * @param generation of the registration
   * @param ranks how many ranks it has
   * @param ranksIn how many of them are registered
   * @param state "registering" until all ranks are in, then "open", and at the end "closing" or "lost"
   * @param tickets queries under way
   * @param leases leases not retired
   * @param saves saves granted and not ended
   * @param restores restores granted and not ended
   * @param leasedBytes bytes charged to its leases and pending reads
   */
  public record InstanceStatus(
      String name,
      Namespace namespace,
      long generation,
      int ranks,
      int ranksIn,
      String state,
      int tickets,
      int leases,
      int saves,
      int restores,
      long leasedBytes) {}

  /**
   * What one lost member was granted and nothing proves unused.
   *
   * @param instance name of its instance
   * @param rank which rank it was, or {@link io.orbitkv.core.wire.Protocol#SCHEDULER} or {@link
   *     io.orbitkv.core.wire.Protocol#ALL_RANKS}
   * @param pid its process id as it stated it, in its own pid namespace
   * @param bytes bytes of memory that cannot be used again yet
   * @param sinceEpochMillis when the member was lost
   * @param waitingFor the proof that is missing, in words, as "process 4711 to be gone"
   */
  public record Quarantine(
      String instance, int rank, long pid, long bytes, long sinceEpochMillis, String waitingFor) {}
}
