package io.orbitkv.cli.doctor;

import io.orbitkv.api.ByteSize;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What a machine is to carry.
 *
 * @param dram memory for blocks, if it is known
 * @param runtime folder of the socket and the shared memory, absolute
 * @param ssd folder of the SSD tier, absolute, if there is to be one
 */
public record Plan(Optional<ByteSize> dram, Path runtime, Optional<Path> ssd) {

  String neededMemory() {
    return dram.map(size -> size + " for --dram").orElse("as much as --dram will be");
  }

  /** Returns whether some bytes are too few for the memory, if that is known. */
  boolean exceeds(long bytes) {
    return dram.isPresent() && dram.get().bytes() > bytes;
  }
}
