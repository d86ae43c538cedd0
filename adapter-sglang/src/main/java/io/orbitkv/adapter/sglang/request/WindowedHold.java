package io.orbitkv.adapter.sglang.request;

import io.orbitkv.core.lookup.Hold;
import java.util.ArrayList;
import java.util.List;

/** A prefix, and the blocks of the sliding window at its end. Held together, given up together. Thread-safe. */
final class WindowedHold implements Hold {

  private final Hold prefix;
  private final int blocks;
  private final List<Hold> window;

  /**
   * Takes over what is held.
   *
   * @param prefix of at least so many blocks
   * @param blocks where the window ends
   * @param window its last blocks, those of the engine's own left out
   */
  WindowedHold(Hold prefix, int blocks, List<Hold> window) {
    this.prefix = prefix;
    this.blocks = blocks;
    this.window = List.copyOf(window);
  }

  @Override
  public long lease() {
    return prefix.lease();
  }

  /** Returns where the window ends: as far as can be restored. */
  @Override
  public int blocks() {
    return blocks;
  }

  /** Returns how many leading blocks are held beyond that, which no window ends at. */
  int cutBlocks() {
    return prefix.blocks() - blocks;
  }

  /** Returns the leases of the window's blocks behind the engine's own, which are at least those it had before. */
  List<Long> window(int ownBlocks) {
    List<Long> leases = new ArrayList<>(window.size());
    for (int block = Math.max(ownBlocks, blocks - window.size()); block < blocks; block++) {
      leases.add(window.get(window.size() - blocks + block).lease());
    }
    return leases;
  }

  @Override
  public void release() {
    prefix.release();
    window.forEach(Hold::release);
  }
}
