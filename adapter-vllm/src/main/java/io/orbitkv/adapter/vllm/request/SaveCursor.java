package io.orbitkv.adapter.vllm.request;

/**
 * How far the blocks of one request are saved. It only goes forward while the request keeps its pages, and starts over
 * when it loses them: pages that it gets later are others.
 */
final class SaveCursor {

  private int next;
  private int end;
  private int stated;

  /** Returns the first block that no save was ordered of, and that is not known to be stored. */
  int next() {
    return next;
  }

  /** Returns how many blocks there are behind it that can be saved now. */
  int behind() {
    return Math.max(0, end - next);
  }

  /** Returns how many hashes the present series has. */
  int stated() {
    return stated;
  }

  /** Leading blocks are stored. */
  void skipTo(int blocks) {
    next = Math.max(next, blocks);
  }

  /** Leading blocks are complete: their tokens are computed, and their hashes and pages known. */
  void completeTo(int blocks) {
    end = Math.max(end, blocks);
  }

  /** A save of the blocks before this one was ordered. The series has their hashes now, and no others. */
  void savedTo(int block) {
    next = block;
    stated = block;
  }

  /** The pages are gone, or what is in them is not what was thought. The names are the same. */
  void restart() {
    next = 0;
    end = 0;
  }

  /** The names are others from now on, and no save has stated one. */
  void rename() {
    next = 0;
    end = 0;
    stated = 0;
  }
}
