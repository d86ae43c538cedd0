package io.orbitkv.adapter.sglang.request;

import io.orbitkv.core.lookup.Questions;

/**
 * The blocks of layers that look back on a window of tokens only. They are kept apart from the other layers', one block
 * a chain: its hash names the whole prefix, and none needs the one before it.
 *
 * @param questions asks the cache about them; used by one thread at a time
 * @param blocks how many blocks they look back on, 1 to {@link #MAX_BLOCKS}
 */
public record SlidingWindow(Questions questions, int blocks) {

  /** Most blocks: each is a lease, and an engine may have 1,024 of them. */
  public static final int MAX_BLOCKS = 64;
}
