package io.orbitkv.core.sim;

import io.orbitkv.api.Departures;
import io.orbitkv.api.Digest;
import io.orbitkv.core.machine.CacheCore;
import io.orbitkv.core.machine.CoreSession;
import io.orbitkv.core.machine.Invariants.Violation;
import io.orbitkv.core.machine.Inventory;
import java.util.HashSet;
import java.util.Set;

/** Learns which blocks of an instance's namespace are there, and takes them for there until it is told otherwise. */
final class Follower {

  private final CacheCore core;
  private final CoreSession session;
  private final Set<Digest> believed = new HashSet<>();
  private long cursor = Departures.NO_CURSOR;

  Follower(CacheCore core, CoreSession session) {
    this.core = core;
    this.session = session;
  }

  /** Compares what it was told with what is there. */
  void look() {
    Departures told = core.departures(session, cursor);
    cursor = told.cursor();
    if (told.all()) {
      believed.clear();
    }
    told.blocks().forEach(believed::remove);
    Set<Digest> there = Inventory.there(core, session);
    for (Digest block : believed) {
      if (!there.contains(block)) {
        throw new Violation("block " + block + " has left and nobody was told");
      }
    }
    believed.addAll(Inventory.findable(core, session));
  }
}
