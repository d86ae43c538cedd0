package io.orbitkv.core.wire;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Writes values in MessagePack, each in its shortest form, so that a message has one encoding. Every method throws
 * {@link RefusedException} if the frame would get too long.
 */
public final class PackWriter {

  private final GrowingBuffer target;

  PackWriter(GrowingBuffer target) {
    this.target = target;
  }

  /** Begins a message: an array of its tag and so many fields. */
  public void message(int tag, int fields) {
    array(1 + fields);
    int64(tag);
  }

  /** Begins an array. */
  public void array(int size) {
    if (size < 16) {
      target.room(1).put((byte) (0x90 | size));
    } else {
      sized(size, 0, 0xdc, 0xdd);
    }
  }

  /**
   * Begins a map of so many keys, each with its value.
   *
   * @throws RefusedException if they are more than {@link Protocol#MAX_KEYS}
   */
  public void map(int size) {
    if (size > Protocol.MAX_KEYS) {
      throw new RefusedException("map has " + size + " keys, expected at most " + Protocol.MAX_KEYS);
    }
    if (size < 16) {
      target.room(1).put((byte) (0x80 | size));
    } else {
      sized(size, 0, 0xde, 0xdf);
    }
  }

  /** Writes a truth value. */
  public void bool(boolean value) {
    target.room(1).put((byte) (value ? 0xc3 : 0xc2));
  }

  /** Writes an integer. */
  public void int64(long value) {
    ByteBuffer out = target.room(1 + Long.BYTES);
    if (value >= -32 && value < 128) {
      out.put((byte) value);
    } else if (value >= 0) {
      if (value < 1L << 8) {
        out.put((byte) 0xcc).put((byte) value);
      } else if (value < 1L << 16) {
        out.put((byte) 0xcd).putShort((short) value);
      } else if (value < 1L << 32) {
        out.put((byte) 0xce).putInt((int) value);
      } else {
        out.put((byte) 0xcf).putLong(value);
      }
    } else if (value >= Byte.MIN_VALUE) {
      out.put((byte) 0xd0).put((byte) value);
    } else if (value >= Short.MIN_VALUE) {
      out.put((byte) 0xd1).putShort((short) value);
    } else if (value >= Integer.MIN_VALUE) {
      out.put((byte) 0xd2).putInt((int) value);
    } else {
      out.put((byte) 0xd3).putLong(value);
    }
  }

  /**
   * Writes a text.
   *
   * @throws RefusedException if it is longer than {@link Protocol#MAX_TEXT_BYTES}
   */
  public void text(String value) {
    text(value, Protocol.MAX_TEXT_BYTES);
  }

  /**
   * As {@link #text(String)}, with another bound.
   *
   * @param most most bytes in UTF-8
   */
  public void text(String value, int most) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    if (utf8.length > most) {
      throw new RefusedException("text '" + value.substring(0, 32) + "...' has " + utf8.length
          + " bytes, expected at most " + most);
    }
    if (utf8.length < 32) {
      target.room(1).put((byte) (0xa0 | utf8.length));
    } else {
      sized(utf8.length, 0xd9, 0xda, 0xdb);
    }
    target.room(utf8.length).put(utf8);
  }

  /** Writes a constant by its name. */
  public void constant(Enum<?> value) {
    text(value.name());
  }

  /** Writes 32 bytes. */
  public void digest(Digest value) {
    bytes(Digest.BYTES).putLong(value.w0()).putLong(value.w1()).putLong(value.w2()).putLong(value.w3());
  }

  /** Writes 32 bytes a block, without an object a block. */
  public void chain(PrefixChain value) {
    value.write(bytes((long) Digest.BYTES * value.blocks()));
  }

  /** Writes 8 bytes a number, big-endian. */
  public void longs(long[] values) {
    ByteBuffer out = bytes((long) Long.BYTES * values.length);
    for (long value : values) {
      out.putLong(value);
    }
  }

  /** Writes 4 bytes a number, big-endian. */
  public void ints(int[] values) {
    ByteBuffer out = bytes((long) Integer.BYTES * values.length);
    for (int value : values) {
      out.putInt(value);
    }
  }

  /** Writes a byte a flag, 1 or 0. */
  public void flags(boolean[] values) {
    ByteBuffer out = bytes(values.length);
    for (boolean value : values) {
      out.put((byte) (value ? 1 : 0));
    }
  }

  private ByteBuffer bytes(long count) {
    int size = (int) Math.min(count, Integer.MAX_VALUE);
    sized(size, 0xc4, 0xc5, 0xc6);
    return target.room(size);
  }

  /** Writes the shortest header; {@code form8} is zero where there is none with one byte. */
  private void sized(int size, int form8, int form16, int form32) {
    ByteBuffer out = target.room(1 + Integer.BYTES);
    if (size < 1 << 8 && form8 != 0) {
      out.put((byte) form8).put((byte) size);
    } else if (size < 1 << 16) {
      out.put((byte) form16).putShort((short) size);
    } else {
      out.put((byte) form32).putInt(size);
    }
  }
}
