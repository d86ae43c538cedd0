package io.orbitkv.backend.dram.residency;

import java.util.Arrays;

/**
 * The blocks that can leave, with the one of the lowest or of the highest key first. A binary heap that knows each
 * block's place: adding and removing take O(log n) and allocate nothing but growth. Blocks of equal keys come in the
 * order of their numbers, so that a run can be repeated.
 *
 * <p>The key of a block must not change while it is in the heap.
 */
final class BlockHeap {

  static final int NONE = -1;

  private final LongColumn keys;
  private final IntColumn places;
  private final boolean highestFirst;
  private int[] blocks = new int[16];
  private int size;

  /**
   * An empty heap.
   *
   * @param keys the blocks' keys
   * @param places where the heap notes the places of its blocks; heaps that never share a block may share it
   * @param highestFirst whether the highest key comes first
   */
  BlockHeap(LongColumn keys, IntColumn places, boolean highestFirst) {
    this.keys = keys;
    this.places = places;
    this.highestFirst = highestFirst;
  }

  /** Returns the first block, or {@link #NONE}. */
  int first() {
    return size == 0 ? NONE : blocks[0];
  }

  void add(int block) {
    if (size == blocks.length) {
      blocks = Arrays.copyOf(blocks, Math.multiplyExact(size, 2));
    }
    rise(size++, block);
  }

  /** Takes a block out that is in the heap. */
  void remove(int block) {
    int place = places.get(block);
    int moved = blocks[--size];
    if (moved != block) {
      if (place > 0 && precedes(moved, blocks[(place - 1) / 2])) {
        rise(place, moved);
      } else {
        sink(place, moved);
      }
    }
  }

  private void rise(int from, int block) {
    int place = from;
    while (place > 0 && precedes(block, blocks[(place - 1) / 2])) {
      put(place, blocks[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    put(place, block);
  }

  private void sink(int from, int block) {
    int place = from;
    for (int child = 2 * place + 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && precedes(blocks[child + 1], blocks[child])) {
        child++;
      }
      if (!precedes(blocks[child], block)) {
        break;
      }
      put(place, blocks[child]);
      place = child;
    }
    put(place, block);
  }

  private void put(int place, int block) {
    blocks[place] = block;
    places.set(block, place);
  }

  private boolean precedes(int a, int b) {
    int order = Long.compare(keys.get(a), keys.get(b));
    return order == 0 ? a < b : order < 0 != highestFirst;
  }
}
