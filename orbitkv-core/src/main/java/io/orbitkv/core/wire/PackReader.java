package io.orbitkv.core.wire;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads the values of one message from MessagePack, in any form that holds them. Everything is checked against what is
 * there before memory is taken for it, so no bytes make it take more than they are. Every method throws {@link
 * MalformedException} with the name of the field that is not as expected.
 */
public final class PackReader {

  private final ByteBuffer in;
  private String name = "message";
  private int found;

  /** Reads from a buffer's position to its limit, big-endian. */
  public PackReader(ByteBuffer in) {
    this.in = in;
  }

  /** Begins a message and returns its tag. */
  public int tag() throws MalformedException {
    found = size("an array", 0x90, 0xdc, "frame") - 1;
    if (found < 0) {
      throw wrong("tag", "an int", "nothing");
    }
    return int32("tag");
  }

  /** States what the tag named and how many fields that has. */
  public void message(String name, int fields) throws MalformedException {
    this.name = name;
    if (found != fields) {
      throw new MalformedException(name + ": expected " + fields + " fields, found " + found);
    }
  }

  /** Ends the message: nothing may follow. */
  public void end() throws MalformedException {
    if (in.hasRemaining()) {
      throw new MalformedException(name + ": " + in.remaining() + " bytes behind its last field");
    }
  }

  /** Begins an array that has so many values. */
  public void array(String field, int size) throws MalformedException {
    int actual = size("an array", 0x90, 0xdc, field);
    if (actual != size) {
      throw wrong(field, size + " values", Integer.toString(actual));
    }
  }

  /** Begins an array and returns how many values it has. That many are behind it, if the message is whole. */
  public int array(String field) throws MalformedException {
    int size = size("an array", 0x90, 0xdc, field);
    // A value takes a byte or more, so what is made for so many values is no larger than what was sent.
    need(field, size);
    return size;
  }

  /** Begins a map of at most {@link Protocol#MAX_KEYS} keys and returns how many it has. */
  public int map(String field) throws MalformedException {
    int size = size("a map", 0x80, 0xde, field);
    if (size > Protocol.MAX_KEYS) {
      throw wrong(field, "at most " + Protocol.MAX_KEYS + " keys", Integer.toString(size));
    }
    return size;
  }

  /** Reads a truth value. */
  public boolean bool(String field) throws MalformedException {
    int form = form(field);
    return switch (form) {
      case 0xc2 -> false;
      case 0xc3 -> true;
      default -> throw wrong(field, "a bool", type(form));
    };
  }

  /** Reads an integer of 32 bits. */
  public int int32(String field) throws MalformedException {
    long value = int64(field);
    if (value != (int) value) {
      throw wrong(field, "an int of 32 bits", Long.toString(value));
    }
    return (int) value;
  }

  /** Reads an integer. */
  public long int64(String field) throws MalformedException {
    int form = form(field);
    if (form < 0x80 || form >= 0xe0) {
      return (byte) form;
    }
    return switch (form) {
      case 0xcc -> need(field, Byte.BYTES).get() & 0xffL;
      case 0xcd -> need(field, Short.BYTES).getShort() & 0xffffL;
      case 0xce -> need(field, Integer.BYTES).getInt() & 0xffff_ffffL;
      case 0xcf -> {
        long value = need(field, Long.BYTES).getLong();
        if (value < 0) {
          throw wrong(field, "an int of 64 bits with a sign", Long.toUnsignedString(value));
        }
        yield value;
      }
      case 0xd0 -> need(field, Byte.BYTES).get();
      case 0xd1 -> need(field, Short.BYTES).getShort();
      case 0xd2 -> need(field, Integer.BYTES).getInt();
      case 0xd3 -> need(field, Long.BYTES).getLong();
      default -> throw wrong(field, "an int", type(form));
    };
  }

  /** Reads a text of at most {@link Protocol#MAX_TEXT_BYTES} bytes. */
  public String text(String field) throws MalformedException {
    return text(field, Protocol.MAX_TEXT_BYTES);
  }

  /** Reads a text of at most {@code most} bytes. */
  public String text(String field, int most) throws MalformedException {
    int form = form(field);
    int size = switch (form) {
      case 0xd9, 0xda, 0xdb -> length(field, form - 0xd9);
      default -> {
        if (form < 0xa0 || form > 0xbf) {
          throw wrong(field, "a str", type(form));
        }
        yield form & 0x1f;
      }
    };
    if (size < 0 || size > most) {
      throw wrong(field, "at most " + most + " bytes of text", Integer.toUnsignedString(size));
    }
    ByteBuffer utf8 = take(field, size);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(utf8).toString();
    } catch (CharacterCodingException _) {
      throw wrong(field, "UTF-8", "other bytes");
    }
  }

  /** Reads the name of one of these constants. */
  public <E extends Enum<E>> E constant(String field, E[] constants) throws MalformedException {
    String text = text(field);
    for (E constant : constants) {
      if (constant.name().equals(text)) {
        return constant;
      }
    }
    throw wrong(field, "one of " + Arrays.toString(constants), "'" + text + "'");
  }

  /** Reads 32 bytes. */
  public Digest digest(String field) throws MalformedException {
    ByteBuffer bytes = bytes(field, 1);
    if (bytes.remaining() != Digest.BYTES) {
      throw wrong(field, Digest.BYTES + " bytes", Integer.toString(bytes.remaining()));
    }
    return new Digest(bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getLong());
  }

  /** Reads 32 bytes a block, without an object a block. */
  public PrefixChain chain(String field) throws MalformedException {
    return PrefixChain.read(hashes(field));
  }

  /** Reads 32 bytes a block where they lie: the chain is good until the memory that is read from changes. */
  public PrefixChain chainInPlace(String field) throws MalformedException {
    return PrefixChain.over(hashes(field));
  }

  private ByteBuffer hashes(String field) throws MalformedException {
    ByteBuffer hashes = bytes(field, Digest.BYTES);
    int blocks = hashes.remaining() / Digest.BYTES;
    if (blocks > PrefixChain.MAX_BLOCKS) {
      throw wrong(field, "at most " + PrefixChain.MAX_BLOCKS + " blocks", Integer.toString(blocks));
    }
    return hashes;
  }

  /** Reads 8 bytes a number. */
  public long[] longs(String field) throws MalformedException {
    ByteBuffer bytes = bytes(field, Long.BYTES);
    long[] values = new long[bytes.remaining() / Long.BYTES];
    bytes.asLongBuffer().get(values);
    return values;
  }

  /** Reads 4 bytes a number. */
  public int[] ints(String field) throws MalformedException {
    ByteBuffer bytes = bytes(field, Integer.BYTES);
    int[] values = new int[bytes.remaining() / Integer.BYTES];
    bytes.asIntBuffer().get(values);
    return values;
  }

  /** Reads a byte a flag, 1 or 0. */
  public boolean[] flags(String field) throws MalformedException {
    ByteBuffer bytes = bytes(field, 1);
    boolean[] values = new boolean[bytes.remaining()];
    for (int i = 0; i < values.length; i++) {
      byte value = bytes.get();
      if (value != 0 && value != 1) {
        throw wrong(field, "bytes 0 and 1", Byte.toString(value));
      }
      values[i] = value == 1;
    }
    return values;
  }

  /** Reads the bytes of whole values. */
  private ByteBuffer bytes(String field, int unit) throws MalformedException {
    int form = form(field);
    if (form < 0xc4 || form > 0xc6) {
      throw wrong(field, "a bin", type(form));
    }
    int size = length(field, form - 0xc4);
    ByteBuffer bytes = take(field, size);
    if (size % unit != 0) {
      throw wrong(field, "a multiple of " + unit + " bytes", Integer.toString(size));
    }
    return bytes;
  }

  private int size(String type, int fixed, int form16, String field) throws MalformedException {
    int form = form(field);
    if ((form & 0xf0) == fixed) {
      return form & 0x0f;
    }
    if (form != form16 && form != form16 + 1) {
      throw wrong(field, type, type(form));
    }
    int size = length(field, 1 + form - form16);
    if (size < 0) {
      throw wrong(field, type, Integer.toUnsignedString(size) + " values");
    }
    return size;
  }

  /** Reads a length of 1, 2 or 4 bytes; one of 2^31 or more comes out negative. */
  private int length(String field, int power) throws MalformedException {
    return switch (power) {
      case 0 -> need(field, Byte.BYTES).get() & 0xff;
      case 1 -> need(field, Short.BYTES).getShort() & 0xffff;
      default -> need(field, Integer.BYTES).getInt();
    };
  }

  private int form(String field) throws MalformedException {
    return need(field, 1).get() & 0xff;
  }

  private ByteBuffer take(String field, int size) throws MalformedException {
    need(field, size);
    ByteBuffer taken = in.slice(in.position(), size);
    in.position(in.position() + size);
    return taken;
  }

  private ByteBuffer need(String field, int size) throws MalformedException {
    if (size < 0 || size > in.remaining()) {
      throw wrong(field, Integer.toUnsignedString(size) + " bytes", in.remaining() + " up to the frame's end");
    }
    return in;
  }

  private MalformedException wrong(String field, String expected, String actual) {
    return new MalformedException(name + "." + field + ": expected " + expected + ", found " + actual);
  }

  private static String type(int form) {
    return switch (form) {
      case 0xc0 -> "nil";
      case 0xc2, 0xc3 -> "bool";
      case 0xc4, 0xc5, 0xc6 -> "bin";
      case 0xca, 0xcb -> "float";
      case 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3 -> "int";
      case 0xd9, 0xda, 0xdb -> "str";
      case 0xdc, 0xdd -> "array";
      case 0xde, 0xdf -> "map";
      default -> switch (form >> 4) {
        case 0x8 -> "map";
        case 0x9 -> "array";
        case 0xa, 0xb -> "str";
        case 0xc, 0xd -> "ext";
        default -> "int";
      };
    };
  }
}
