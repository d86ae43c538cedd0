package io.orbitkv.backend.iouring.store;

import static java.nio.ByteOrder.BIG_ENDIAN;
import static java.nio.ByteOrder.LITTLE_ENDIAN;

import io.orbitkv.api.Digest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What all pages of the format share. A page is 4,096 bytes: the unit of placement and of transfers. A header page
 * begins with an 8-byte magic and the format version and ends with the CRC-32C of everything before it. Numbers are
 * little-endian; digests are their 32 bytes as they are.
 */
final class Page {

  /** Bytes of a page. */
  static final int BYTES = 4096;

  /** The one version of the format that this code reads and writes. */
  static final int FORMAT_VERSION = 1;

  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(LITTLE_ENDIAN);
  private static final ValueLayout.OfLong DIGEST_WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(BIG_ENDIAN);

  // The head that every header page has.
  private static final int MAGIC = 0;
  private static final int VERSION = 8;
  private static final int STORE_ID = 16;
  private static final int CRC = BYTES - Integer.BYTES;

  private Page() {}

  /** Returns how many bytes the given number takes in whole pages. */
  static long roundUp(long bytes) {
    return (bytes + BYTES - 1) & -BYTES;
  }

  /** Returns a magic from its eight ASCII characters, as they lie in the file. */
  static long magic(String characters) {
    long magic = 0;
    for (int i = Long.BYTES - 1; i >= 0; i--) {
      magic = magic << Byte.SIZE | characters.charAt(i);
    }
    return magic;
  }

  /** Empties a page and writes its head. */
  static void begin(MemorySegment page, long magic, StoreId store) {
    page.asSlice(0, BYTES).fill((byte) 0);
    putLong(page, MAGIC, magic);
    putInt(page, VERSION, FORMAT_VERSION);
    putLong(page, STORE_ID, store.low());
    putLong(page, STORE_ID + Long.BYTES, store.high());
  }

  /** Writes the checksum; nothing in the page may change after it. */
  static void end(MemorySegment page, Checksum checksum) {
    putInt(page, CRC, checksum.of(page, 0, CRC));
  }

  static boolean hasMagic(MemorySegment page, long magic) {
    return getLong(page, MAGIC) == magic;
  }

  static int version(MemorySegment page) {
    return getInt(page, VERSION);
  }

  static StoreId store(MemorySegment page) {
    return new StoreId(getLong(page, STORE_ID + Long.BYTES), getLong(page, STORE_ID));
  }

  static boolean isOf(MemorySegment page, StoreId store) {
    return getLong(page, STORE_ID) == store.low() && getLong(page, STORE_ID + Long.BYTES) == store.high();
  }

  static boolean isIntact(MemorySegment page, Checksum checksum) {
    return getInt(page, CRC) == checksum.of(page, 0, CRC);
  }

  static boolean isZero(MemorySegment page) {
    for (int at = 0; at < BYTES; at += Long.BYTES) {
      if (getLong(page, at) != 0) {
        return false;
      }
    }
    return true;
  }

  static int getInt(MemorySegment memory, long at) {
    return memory.get(INT, at);
  }

  static void putInt(MemorySegment memory, long at, int value) {
    memory.set(INT, at, value);
  }

  static long getLong(MemorySegment memory, long at) {
    return memory.get(LONG, at);
  }

  static void putLong(MemorySegment memory, long at, long value) {
    memory.set(LONG, at, value);
  }

  static Digest getDigest(MemorySegment memory, long at) {
    return new Digest(
        memory.get(DIGEST_WORD, at),
        memory.get(DIGEST_WORD, at + 8),
        memory.get(DIGEST_WORD, at + 16),
        memory.get(DIGEST_WORD, at + 24));
  }

  static void putDigest(MemorySegment memory, long at, Digest digest) {
    memory.set(DIGEST_WORD, at, digest.w0());
    memory.set(DIGEST_WORD, at + 8, digest.w1());
    memory.set(DIGEST_WORD, at + 16, digest.w2());
    memory.set(DIGEST_WORD, at + 24, digest.w3());
  }

  static boolean hasDigest(MemorySegment memory, long at, Digest digest) {
    return memory.get(DIGEST_WORD, at) == digest.w0()
        && memory.get(DIGEST_WORD, at + 8) == digest.w1()
        && memory.get(DIGEST_WORD, at + 16) == digest.w2()
        && memory.get(DIGEST_WORD, at + 24) == digest.w3();
  }
}
