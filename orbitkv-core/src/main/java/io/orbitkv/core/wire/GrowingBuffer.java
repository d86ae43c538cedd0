package io.orbitkv.core.wire;

import io.orbitkv.api.RefusedException;
import java.nio.ByteBuffer;

/** Direct memory for one frame at a time. It grows with what is really in it, so a length alone takes no memory. */
final class GrowingBuffer {

  /** A query of 2,000 blocks fits. */
  private static final int FIRST_BYTES = 64 * 1024;

  private final int maxBytes;
  private ByteBuffer bytes;

  GrowingBuffer(int maxBytes) {
    this.maxBytes = maxBytes;
    this.bytes = ByteBuffer.allocateDirect(Math.min(FIRST_BYTES, maxBytes));
  }

  ByteBuffer bytes() {
    return bytes;
  }

  /**
   * Returns the buffer with room behind its position.
   *
   * @throws RefusedException if that is more than the bound; the content is unchanged
   */
  ByteBuffer room(int more) {
    if (bytes.remaining() < more) {
      long needed = (long) bytes.position() + more;
      if (needed > maxBytes) {
        throw new RefusedException("frame has " + needed + " bytes or more, expected at most " + maxBytes);
      }
      ByteBuffer larger = ByteBuffer.allocateDirect((int) Math.min(Math.max(needed, 2L * bytes.capacity()), maxBytes));
      bytes = larger.put(bytes.flip());
    }
    return bytes;
  }
}
