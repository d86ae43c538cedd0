package io.orbitkv.core.agent;

import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.spi.Transfer;
import java.util.Optional;

/** Blocks on their way out of an engine's pages. */
final class EngineSave extends EngineTransfer {

  private final SaveGrant grant;
  private final int[] blocks;

  /**
   * @param blocks the index in the chain of each shard of the copies
   */
  EngineSave(long number, Transfer copies, SaveGrant grant, int[] blocks) {
    super(number, copies);
    this.grant = grant;
    this.blocks = blocks;
  }

  @Override
  void end(FaultLog faults, Runnable drained) {
    copies.awaitDrained();
    Optional<Throwable> failure = copies.failure();
    failure.ifPresent(cause -> faults.fault("a save of " + blocks.length + " blocks failed", cause));
    int committed = 0;
    try (grant) {
      if (failure.isEmpty() && wanted()) {
        for (int i = 0; i < blocks.length; i++) {
          grant.copied(blocks[i], copies.checksum(i));
        }
        committed = grant.commit();
      }
    } catch (OrbitKvException e) {
      faults.fault("a save of " + blocks.length + " blocks was not kept", e);
    }
    drained(committed);
    drained.run();
  }
}
