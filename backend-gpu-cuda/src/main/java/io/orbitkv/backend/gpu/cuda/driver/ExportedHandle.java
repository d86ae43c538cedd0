package io.orbitkv.backend.gpu.cuda.driver;

import io.orbitkv.api.RefusedException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;

/**
 * What another process's driver gave out for memory or for an event of its own.
 *
 * @param digits its bytes in hexadecimal digits
 */
public record ExportedHandle(String digits) {

  /** The size of a handle. */
  public static final int BYTES = Cuda.HANDLE_BYTES;

  /** Checks the length and the digits. */
  public ExportedHandle {
    if (digits.length() != 2 * BYTES || !digits.chars().allMatch(HexFormat::isHexDigit)) {
      throw new RefusedException("handle '" + digits + "' is not " + 2 * BYTES + " hexadecimal digits");
    }
  }

  MemorySegment copyTo(Arena arena) {
    return arena.allocateFrom(ValueLayout.JAVA_BYTE, HexFormat.of().parseHex(digits));
  }
}
