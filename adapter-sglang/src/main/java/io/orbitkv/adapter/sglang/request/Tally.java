package io.orbitkv.adapter.sglang.request;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Counts what happens to an engine's requests, by name. Used by one thread at a time. */
final class Tally {

  /** What is counted from the start, so that a count of zero is there to be seen. */
  enum Count {
    /** Chains that the cache was asked about, each once however many ranks asked. */
    QUERIES,
    /** Those of them of which leading blocks were leased. */
    HITS,
    HIT_BLOCKS,
    /** Blocks behind a hit that are stored, and that no whole sliding window ends at. */
    CUT_BLOCKS,
    /** Lookups that were answered with a wait. */
    PENDING_ANSWERS,
    /** Leases and questions whose ranks did not ask again or give up in time. */
    EXPIRED,
    /** Requests that were not taken, since the table was full. */
    TABLE_FULL
  }

  private final Map<String, Long> values = new TreeMap<>();

  Tally() {
    for (Count count : Count.values()) {
      values.put(name(count), 0L);
    }
  }

  void add(Count count, long more) {
    values.merge(name(count), more, Long::sum);
  }

  /** The cache had nothing. */
  void missed(String reason) {
    values.merge("missed_" + reason, 1L, Long::sum);
  }

  /** Returns a copy. */
  Map<String, Long> values() {
    return new TreeMap<>(values);
  }

  private static String name(Count count) {
    return count.name().toLowerCase(Locale.ROOT);
  }
}
