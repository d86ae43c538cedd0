package io.orbitkv.adapter.vllm.request;

import java.util.Arrays;

/** The engine's pages of one request's blocks, first block first. */
final class RequestPages {

  private int[] pages = new int[0];
  private int count;

  int count() {
    return count;
  }

  /** Returns whether these are the same, as far as both go. */
  boolean agreeWith(int[] others) {
    int both = Math.min(count, others.length);
    return Arrays.equals(pages, 0, both, others, 0, both);
  }

  /** The request got all new pages, or lost them. */
  void replace(int[] all) {
    pages = all.clone();
    count = all.length;
  }

  /** Takes the pages from a block on. Returns whether none is missing before them; if one is, nothing is taken. */
  boolean extend(int first, int[] more) {
    if (first < 0 || first > count || more.length > Integer.MAX_VALUE - first) {
      return false;
    }
    int end = first + more.length;
    if (end > pages.length) {
      pages = Arrays.copyOf(pages, Math.max(end, pages.length + pages.length / 2));
    }
    System.arraycopy(more, 0, pages, first, more.length);
    count = Math.max(count, end);
    return true;
  }

  int[] range(int from, int to) {
    return Arrays.copyOfRange(pages, from, to);
  }
}
