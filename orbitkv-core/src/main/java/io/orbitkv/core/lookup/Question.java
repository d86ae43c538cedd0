package io.orbitkv.core.lookup;

/** Whether a cache has the leading blocks of one chain. Used by one thread, which no method holds up for long. */
public interface Question {

  /** Returns how it stands. After anything but {@link Finding.Open} the question has ended. */
  Finding look();

  /** Waits for the SSD no longer: from now on only what is in memory counts, and a {@link #look} soon has an end. */
  void settle();

  /** Ends the question without an answer. What it would have held is released. Idempotent. */
  void drop();
}
