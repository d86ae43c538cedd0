package io.orbitkv.core.agent;

import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.spi.Transfer;
import java.util.Optional;

/** Blocks on their way into an engine's pages. */
final class EngineLoad extends EngineTransfer {

  private final RestoreGrant grant;
  private final int count;

  EngineLoad(long number, Transfer copies, RestoreGrant grant, int count) {
    super(number, copies);
    this.grant = grant;
    this.count = count;
  }

  AgentReply.LayerStanding layer(int layer) {
    if (copies.layerReady(layer)) {
      return AgentReply.LayerStanding.READY;
    }
    return copies.failure().isPresent() ? AgentReply.LayerStanding.FAILED : AgentReply.LayerStanding.COPYING;
  }

  @Override
  void end(FaultLog faults, Runnable drained) {
    copies.awaitDrained();
    Optional<Throwable> failure = copies.failure();
    failure.ifPresent(cause -> faults.fault("a load of " + count + " blocks failed", cause));
    // The bytes were pinned while they were read, whatever has become of the cache meanwhile.
    drained(failure.isEmpty() && wanted() ? count : 0);
    drained.run();
    try {
      grant.drained();
    } catch (OrbitKvException e) {
      faults.fault("a drained load could not be given back", e);
    }
  }
}
