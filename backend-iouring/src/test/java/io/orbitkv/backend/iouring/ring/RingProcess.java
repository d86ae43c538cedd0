package io.orbitkv.backend.iouring.ring;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

/** The program of {@link ConfinedRingTest}: opens a file, registers memory, reads, and prints what came of it. */
final class RingProcess {

  private RingProcess() {}

  public static void main(String[] arguments) throws IOException {
    try (Arena arena = Arena.ofConfined();
        StoreFile file = new RingFiles(true).open(Path.of(arguments[0]), 4)) {
      MemorySegment memory = arena.allocate(16 << 20, 4096);
      System.out.println(file.register(List.of(memory)));
      file.read(1, memory.asSlice(0, 4096), 0);
      int[] read = new int[1];
      while (file.poll((token, result) -> read[0] = result, true) == 0) {}
      System.out.println("read " + read[0]);
    } catch (UnavailableException e) {
      System.out.println("unavailable: " + e.getMessage());
    }
  }
}
