package io.orbitkv.backend.gpu.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.util.HexFormat;

/**
 * What a GPU is.
 *
 * @param name as the vendor sells it
 * @param uuid 32 hexadecimal digits, the same in every process whatever ordinal the GPU has there
 * @param driverVersion the newest CUDA that the driver serves: 1000 times the major version and 10 times the minor one
 * @param major major compute capability
 * @param minor minor compute capability
 * @param multiprocessors how many there are
 * @param copyEngines how many copies run beside one another and beside computation
 * @param hostPointers whether pinned host memory has the same address for the GPU
 * @param batches whether the driver takes many copies in one call
 */
public record GpuFacts(String name, String uuid, int driverVersion, int major, int minor, int multiprocessors,
    int copyEngines, boolean hostPointers, boolean batches) {

  static GpuFacts read(MemorySegment facts) {
    byte[] uuid = facts.asSlice(Cuda.FACTS_UUID, 16).toArray(JAVA_BYTE);
    return new GpuFacts(facts.getString(Cuda.FACTS_NAME), HexFormat.of().formatHex(uuid),
        facts.get(JAVA_INT, Cuda.FACTS_DRIVER_VERSION), facts.get(JAVA_INT, Cuda.FACTS_MAJOR),
        facts.get(JAVA_INT, Cuda.FACTS_MINOR), facts.get(JAVA_INT, Cuda.FACTS_MULTIPROCESSORS),
        facts.get(JAVA_INT, Cuda.FACTS_COPY_ENGINES), facts.get(JAVA_INT, Cuda.FACTS_HOST_POINTERS) != 0,
        facts.get(JAVA_INT, Cuda.FACTS_BATCHES) != 0);
  }

  @Override
  public String toString() {
    return name + ", " + multiprocessors + " multiprocessors, " + copyEngines + " copy engines, driver for CUDA "
        + driverVersion / 1000 + "." + driverVersion % 1000 / 10 + (batches ? "" : ", without batches of copies");
  }
}
