package io.orbitkv.core.machine;

import io.orbitkv.api.Departures;
import io.orbitkv.api.Digest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The blocks that left last, scope by scope. It is kept for scopes that somebody follows, and bounded: who asks too
 * seldom is told that all have left.
 */
final class DepartureLog {

  /** How many are kept of a scope: half a mebibyte. */
  static final int KEPT = 1 << 14;

  /** How many are told at once. */
  static final int AT_ONCE = 1 << 12;

  private static final int WORDS = 4;

  private static final class Trail {
    private final long[] words = new long[KEPT * WORDS];
    private final long begin;
    private long end;

    Trail(long begin) {
      this.begin = begin;
      this.end = begin;
    }
  }

  private final SplittableRandom random;
  /** By the scopes' numbers; null for one that nobody follows. */
  private Trail[] trails = new Trail[0];

  DepartureLog(long seed) {
    this.random = new SplittableRandom(seed);
  }

  /** A block of a scope has left. */
  void left(int scope, long w0, long w1, long w2, long w3) {
    if (scope < trails.length && trails[scope] != null) {
      Trail trail = trails[scope];
      int at = (int) (trail.end++ % KEPT) * WORDS;
      trail.words[at] = w0;
      trail.words[at + 1] = w1;
      trail.words[at + 2] = w2;
      trail.words[at + 3] = w3;
    }
  }

  /** Tells what has left a scope since a cursor, and follows the scope from now on. */
  Departures since(int scope, long cursor) {
    if (scope >= trails.length) {
      trails = Arrays.copyOf(trails, scope + 1);
    }
    if (trails[scope] == null) {
      // A number that no other trail comes to, of this start or another.
      trails[scope] = new Trail(1 + (random.nextLong() >>> 2));
    }
    Trail trail = trails[scope];
    if (cursor < Math.max(trail.begin, trail.end - KEPT) || cursor > trail.end) {
      return new Departures(trail.end, true, List.of());
    }
    int count = (int) Math.min(AT_ONCE, trail.end - cursor);
    List<Digest> blocks = new ArrayList<>(count);
    for (long each = cursor; each < cursor + count; each++) {
      int at = (int) (each % KEPT) * WORDS;
      blocks.add(new Digest(trail.words[at], trail.words[at + 1], trail.words[at + 2], trail.words[at + 3]));
    }
    return new Departures(cursor + count, false, blocks);
  }

  /** Nobody follows a scope any more. */
  void forget(int scope) {
    if (scope < trails.length) {
      trails[scope] = null;
    }
  }
}
