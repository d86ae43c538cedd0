package io.orbitkv.adapter.vllm.request;

import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Numbers of saves and series. They begin at random, so that what another start of the adapter ordered is not taken for
 * one of these, and go on from one connection to the next. Thread-safe.
 */
public final class Numbers {

  private final AtomicLong next = new AtomicLong(new SecureRandom().nextLong(1, Long.MAX_VALUE / 2));

  /** Returns a number that was not given before. */
  long next() {
    return next.getAndIncrement();
  }
}
