package io.orbitkv.api.spi;

/**
 * Decides which block leaves memory next. Blocks form a forest: a block's parent is the block before it in its prefix,
 * and only a block that has no child in memory and that nobody holds can leave. The core keeps that rule and tells the
 * order which blocks can leave; the order only ranks them.
 *
 * <p>A use is reported for the <em>deepest</em> block of the prefix alone, in O(1), and is meant for all its ancestors.
 * Since children leave first, an order that folds a leaving block's standing into its parent's loses nothing by that.
 *
 * <p>Blocks are named by small non-negative numbers, which are used again after {@link #removed}. A fingerprint is a
 * well-mixed 64-bit hash of a block's name, the same whenever that block comes back. Called by one thread at a time (the
 * core); nothing may wait, and nothing should allocate per call.
 */
public interface EvictionOrder {

  /** The value of {@link #victim} when no block can leave. */
  int NONE = -1;

  /**
   * A block came into memory; it can not leave until {@link #released}.
   *
   * @param block its number
   * @param parent its parent's number, or {@link #NONE}
   * @param fingerprint the hash of its name
   */
  void inserted(int block, int parent, long fingerprint);

  /**
   * A query was served to this block and with it all its ancestors.
   *
   * @param block the deepest block served
   */
  void used(int block);

  /**
   * The block can not leave: it gained a child in memory or a holder.
   *
   * @param block a block in memory that could leave
   */
  void held(int block);

  /**
   * The block can leave now.
   *
   * @param block a block in memory that could not leave
   */
  void released(int block);

  /**
   * The block left memory. It could leave before. Its parent, if it can leave now, is released after this call.
   *
   * @param block its number, free for another block from now on
   * @param evicted whether it left because it was the {@link #victim}, rather than being withdrawn
   */
  void removed(int block, boolean evicted);

  /**
   * Returns the block that should leave first among those that can.
   *
   * @return its number, or {@link #NONE}; the order is unchanged
   */
  int victim();

  /**
   * Returns whether a new block should be let into full memory at all, at the price of the victim. A policy without an
   * opinion says yes.
   *
   * @param fingerprint the hash of the new block's name
   * @param parent its parent's number, or {@link #NONE}
   */
  default boolean admits(long fingerprint, int parent) {
    return true;
  }
}
