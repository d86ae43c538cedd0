package io.orbitkv.adapter.vllm.request;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Counts what happens to the requests of one scheduler, by name. Used by one thread. */
final class Tally {

  /** What is counted from the start, so that a count of zero is there to be seen. */
  enum Count {
    /** Tokens behind the engine's own that admitted requests asked for. */
    QUERIED_TOKENS,
    /** Those of them that were ordered to be loaded. */
    HIT_TOKENS,
    LOADS,
    LOADS_FAILED,
    LOADED_BLOCKS,
    LOADED_BYTES,
    SAVES,
    /** Plans that left blocks to later ones, since too much was being saved. */
    SAVES_POSTPONED,
    /** Blocks of requests that ended before there was room to save them. */
    UNSAVED_BLOCKS,
    SAVED_BLOCKS,
    SAVED_BYTES,
    /** Requests that were deferred, however often they were asked for. */
    DEFERRALS,
    /** Requests that were not taken, since a table was full. */
    TABLE_FULL,
    RESETS,
    RESETS_REFUSED
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

  /** A lookup found nothing. */
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
