package io.orbitkv.api;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * An immutable 256-bit value, big-endian in four words: the first byte of the digest is the most significant byte of
 * {@code w0}.
 *
 * @param w0 bytes 0 to 7
 * @param w1 bytes 8 to 15
 * @param w2 bytes 16 to 23
 * @param w3 bytes 24 to 31
 */
public record Digest(long w0, long w1, long w2, long w3) {

  /** The length of a digest in bytes. */
  public static final int BYTES = 32;

  /** All bits zero: the parent of a first block. No SHA-256 preimage of it is known. */
  public static final Digest ZERO = new Digest(0, 0, 0, 0);

  /**
   * Takes 32 bytes as they are.
   *
   * @param bytes exactly 32 bytes
   * @return the digest
   * @throws RefusedException if the length differs
   */
  public static Digest of(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new RefusedException("digest has " + bytes.length + " bytes, expected " + BYTES);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new Digest(buffer.getLong(), buffer.getLong(), buffer.getLong(), buffer.getLong());
  }

  /**
   * Reads 64 hexadecimal digits of either case.
   *
   * @param hex 64 digits
   * @return the digest
   * @throws RefusedException if the text is anything else
   */
  public static Digest ofHex(String hex) {
    try {
      return of(HexFormat.of().parseHex(hex));
    } catch (IllegalArgumentException e) {
      throw new RefusedException("digest '" + hex + "' is not 64 hexadecimal digits", e);
    }
  }

  /**
   * The SHA-256 of some bytes.
   *
   * @param bytes any length
   * @return their digest
   */
  public static Digest sha256(byte[] bytes) {
    return of(newSha256().digest(bytes));
  }

  /** Returns the 32 bytes in a new array. */
  public byte[] toBytes() {
    byte[] bytes = new byte[BYTES];
    ByteBuffer.wrap(bytes).putLong(w0).putLong(w1).putLong(w2).putLong(w3);
    return bytes;
  }

  /** Returns 64 lower-case hexadecimal digits. */
  public String toHex() {
    return HexFormat.of().formatHex(toBytes());
  }

  /** Returns the first 12 digits, for messages. */
  @Override
  public String toString() {
    return toHex().substring(0, 12);
  }

  static MessageDigest newSha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
