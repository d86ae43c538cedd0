package io.orbitkv.adapter.vllm.request;

import io.orbitkv.api.RefusedException;

/**
 * What a scheduler stated that decides about its requests.
 *
 * @param blockTokens tokens of a block, at least 1
 * @param blockBytes bytes of a block over all ranks, for counting
 * @param deferNanos how long a request may be deferred, 0 for not at all
 * @param saves whether blocks are saved
 */
public record SchedulerSpec(int blockTokens, long blockBytes, long deferNanos, boolean saves) {

  /** Checks the numbers. */
  public SchedulerSpec {
    if (blockTokens < 1) {
      throw new RefusedException("the scheduler states " + blockTokens + " tokens a block, expected 1 or more");
    }
    if (deferNanos < 0) {
      throw new RefusedException("the scheduler may defer a request for " + deferNanos + " ns, expected 0 or more");
    }
  }
}
