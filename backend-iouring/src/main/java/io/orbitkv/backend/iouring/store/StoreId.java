package io.orbitkv.backend.iouring.store;

import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * The random name of one store. Every header carries it, so that bytes of another store that lay on the same disk
 * blocks are never taken for this one's.
 *
 * @param high bits 64 to 127
 * @param low bits 0 to 63
 */
record StoreId(long high, long low) {

  static StoreId random() {
    SecureRandom random = new SecureRandom();
    return new StoreId(random.nextLong(), random.nextLong());
  }

  /** Returns 32 hexadecimal digits. */
  @Override
  public String toString() {
    return HexFormat.of().toHexDigits(high) + HexFormat.of().toHexDigits(low);
  }
}
