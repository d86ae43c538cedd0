package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.RefusedException;
import io.orbitkv.backend.gpu.cuda.driver.ExportedHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An engine's pool, as the engine states it: {@code cuda-ipc:UUID:PID:EVENT[,GATES,FILE]:HANDLE,BASE,BYTES[:...]}. UUID
 * is the GPU's, 32 hexadecimal digits. PID is the number of the engine's process. EVENT is the handle of an event that the
 * engine records, before it asks for a load or a save, behind whatever must be complete first; or {@code -}. FILE holds so
 * many {@link Gates}, if the engine's streams wait for layers. Each part is {@code BYTES} bytes from {@code BASE}
 * of the allocation that {@code HANDLE} is of; the pool is the parts one behind another.
 *
 * @param uuid of the GPU
 * @param pid of the engine's process
 * @param fence the event, if there is one
 * @param gates where layers are stated to have arrived, if it is asked for
 * @param parts what the pool is made of
 */
record ExportedPool(String uuid, long pid, Optional<ExportedHandle> fence,
    Optional<Gates.Exported> gates, List<Part> parts) {

  private static final String SCHEME = "cuda-ipc";
  private static final int MIN_FIELDS = 5;
  private static final int PART_FIELDS = 3;
  private static final int GATE_FIELDS = 3;

  /**
   * A part of one allocation.
   *
   * @param handle of the allocation
   * @param base where the part begins in it
   * @param bytes size of the part
   */
  record Part(ExportedHandle handle, long base, long bytes) {}

  static ExportedPool parse(String memory) {
    String[] fields = memory.split(":", -1);
    if (!fields[0].equals(SCHEME) || fields.length < MIN_FIELDS) {
      throw refused(memory, "that");
    }
    if (!fields[1].matches("[0-9a-f]{32}")) {
      throw refused(memory, "UUID '" + fields[1] + "'");
    }
    String[] order = fields[3].split(",", -1);
    Optional<ExportedHandle> fence =
        order[0].equals("-") ? Optional.empty() : Optional.of(new ExportedHandle(order[0]));
    List<Part> parts = new ArrayList<>();
    for (int i = MIN_FIELDS - 1; i < fields.length; i++) {
      String[] part = fields[i].split(",", -1);
      if (part.length != PART_FIELDS) {
        throw refused(memory, "part '" + fields[i] + "'");
      }
      parts.add(new Part(new ExportedHandle(part[0]), number(memory, part[1], 0), number(memory, part[2], 1)));
    }
    return new ExportedPool(fields[1], number(memory, fields[2], 1), fence, gates(memory, order),
        List.copyOf(parts));
  }

  private static Optional<Gates.Exported> gates(String memory, String[] order) {
    if (order.length == 1) {
      return Optional.empty();
    }
    if (order.length != GATE_FIELDS || order[2].isEmpty()) {
      throw refused(memory, "gates '" + String.join(",", order) + "'");
    }
    int count = Math.toIntExact(Math.min(number(memory, order[1], 1), Integer.MAX_VALUE));
    return Optional.of(new Gates.Exported(count, Path.of(order[2])));
  }

  private static long number(String memory, String digits, long least) {
    try {
      long number = Long.parseLong(digits);
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Said below, as for a number that is out of range.
    }
    throw refused(memory, "number '" + digits + "'");
  }

  private static RefusedException refused(String memory, String what) {
    String shown = memory.length() <= 64 ? memory : memory.substring(0, 64) + "...";
    return new RefusedException("memory '" + shown + "': " + what
        + " is not as in cuda-ipc:UUID:PID:EVENT[,GATES,FILE]:HANDLE,BASE,BYTES; device cuda takes an exported pool of a GPU");
  }
}
