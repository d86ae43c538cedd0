package io.orbitkv.core.machine;

import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.SessionState;
import io.orbitkv.core.lifecycle.TicketState;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** An engine instance as the core keeps it: everything that it may still use. */
public final class CoreSession {

  final SessionSpec spec;
  final Scope scope;
  final Budget budget;
  /** For blocks that it is saving. */
  final Budget fillBudget;
  final Map<Long, CoreTicket> tickets = new HashMap<>();
  /** By number; one that no caller fetched yet is among them. */
  final Map<Long, CoreLease> leases = new LinkedHashMap<>();
  /** Saves that are granted memory; one that wants nothing has nothing to end. */
  final Set<CoreSave> saves = new LinkedHashSet<>();
  final Set<CoreRestore> restores = new LinkedHashSet<>();
  private final int payloadAt;
  long lastOperation = -1;
  /** Whether it was told that nothing can be read from the SSD any more. */
  boolean knowsStoreIsOff;
  SessionState state = SessionState.OPEN;

  CoreSession(SessionSpec spec, Scope scope, Budget budget, Budget fillBudget, int payloadAt) {
    this.spec = spec;
    this.scope = scope;
    this.budget = budget;
    this.fillBudget = fillBudget;
    this.payloadAt = payloadAt;
  }

  /** Returns what the instance stated. */
  public SessionSpec spec() {
    return spec;
  }

  /** Returns where it is in its life. */
  public SessionState state() {
    return state;
  }

  /** Returns how many of its queries are not final. */
  public int liveTickets() {
    return tickets.size();
  }

  /** Returns how many of its leases are not retired. */
  public int liveLeases() {
    return leases.size();
  }

  /** Returns how many of its saves are not ended. */
  public int liveSaves() {
    return saves.size();
  }

  /** Returns how many of its restores are not retired. */
  public int liveRestores() {
    return restores.size();
  }

  /** Returns the bytes charged to its leases and pending reads. */
  public long leasedBytes() {
    return budget.used();
  }

  /** Returns where the first shard begins in a record. */
  int payloadAt() {
    return payloadAt;
  }

  /** Returns how many queries will become leases. */
  int pendingTickets() {
    int pending = 0;
    for (CoreTicket ticket : tickets.values()) {
      pending += ticket.state == TicketState.PENDING ? 1 : 0;
    }
    return pending;
  }

  boolean isIdle() {
    return saves.isEmpty() && restores.isEmpty();
  }

  void on(SessionState.Event event) {
    state = state.on(event);
  }
}
