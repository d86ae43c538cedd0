package io.orbitkv.api;

import java.util.List;
import java.util.Objects;

/**
 * Which blocks of a namespace have left a cache, so that whoever was told that they are there can be told otherwise. A
 * block has left when it is in no tier any more; it may have come back since.
 *
 * @param cursor what to ask with next, to be told of what leaves from now on
 * @param all whether more has left than is known: every block has to be taken for gone. So it is for a cursor that is
 *     not of this cache, or of too long ago
 * @param blocks the prefix hashes of those that have left since the cursor of the question, in the order in which they
 *     left; one may be named again. There may be more, for the next question
 */
public record Departures(long cursor, boolean all, List<Digest> blocks) {

  /** The cursor of nobody's answer: the first question has it. */
  public static final long NO_CURSOR = 0;

  /** Copies the list. */
  public Departures {
    blocks = List.copyOf(Objects.requireNonNull(blocks, "blocks"));
  }
}
