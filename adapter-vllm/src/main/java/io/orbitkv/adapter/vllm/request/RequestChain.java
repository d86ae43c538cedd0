package io.orbitkv.adapter.vllm.request;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** The engine's hashes of one request's whole blocks. They grow with the request, and none ever changes. */
final class RequestChain {

  private byte[] hashes = new byte[0];
  private int blocks;

  int blocks() {
    return blocks;
  }

  /**
   * Takes hashes.
   *
   * @param known how many are in front of them
   * @param more those that follow
   * @return whether they continue the chain; if there is a gap, or one differs from what was said before, nothing is
   *     taken
   */
  boolean extend(int known, PrefixChain more) {
    if (known < 0 || known > blocks || more.blocks() > PrefixChain.MAX_BLOCKS - known) {
      return false;
    }
    int end = known + more.blocks();
    byte[] bytes = new byte[more.blocks() * Digest.BYTES];
    more.write(ByteBuffer.wrap(bytes));
    int start = known * Digest.BYTES;
    int both = Math.min(bytes.length, blocks * Digest.BYTES - start);
    if (!Arrays.equals(hashes, start, start + both, bytes, 0, both)) {
      return false;
    }
    if (end > blocks) {
      if (end * Digest.BYTES > hashes.length) {
        hashes = Arrays.copyOf(hashes, Math.max(end * Digest.BYTES, hashes.length + hashes.length / 2));
      }
      System.arraycopy(bytes, 0, hashes, start, bytes.length);
      blocks = end;
    }
    return true;
  }

  /** Returns how many blocks it would have with more, for bounds. */
  int blocksWith(int known, PrefixChain more) {
    return Math.clamp((long) known + more.blocks(), blocks, Integer.MAX_VALUE);
  }

  /** Returns the names of some blocks in a generation. */
  PrefixChain names(int from, int to, Generation generation) {
    ByteBuffer names = ByteBuffer.wrap(Arrays.copyOfRange(hashes, from * Digest.BYTES, to * Digest.BYTES));
    Digest mask = generation.mask();
    for (int at = 0; at < names.capacity(); at += Digest.BYTES) {
      names.putLong(at, names.getLong(at) ^ mask.w0());
      names.putLong(at + 8, names.getLong(at + 8) ^ mask.w1());
      names.putLong(at + 16, names.getLong(at + 16) ^ mask.w2());
      names.putLong(at + 24, names.getLong(at + 24) ^ mask.w3());
    }
    return PrefixChain.read(names);
  }
}
