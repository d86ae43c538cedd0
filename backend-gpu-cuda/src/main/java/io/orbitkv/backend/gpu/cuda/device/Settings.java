package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.backend.gpu.cuda.driver.Driver;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The settings of this device.
 *
 * @param driver the driver's library
 * @param loads how shards come into pages
 * @param saves how pages go into shards; {@link CopyMode#AUTO} is the copy engines, whatever the layout
 * @param bands into how many parts a load's layers are divided, each of which is there before the next
 * @param kernelBlocks how many multiprocessors the kernel copies on
 * @param yield how long a portion of a save waits for loads at most
 * @param saveRate most bytes a second that are saved, if bounded
 * @param savePortion bytes of a save that are with the GPU as one
 * @param savePortions as many bytes as so many such portions have are with the GPU at a time
 * @param checksumThreads how many threads sum what was saved
 * @param pinChunk bytes that are pinned at a time
 * @param drainLimit how long a transfer may take before nothing is known of it
 */
record Settings(String driver, CopyMode loads, CopyMode saves, int bands, int kernelBlocks, Duration yield,
    Optional<ByteSize> saveRate, long savePortion, int savePortions, int checksumThreads, long pinChunk,
    Duration drainLimit) {

  private static final Set<String> NAMES = Set.of("driver", "loads", "saves", "bands", "kernel-blocks", "yield-millis",
      "save-rate", "save-portion", "save-portions", "checksum-threads", "pin-chunk", "drain-seconds");

  /**
   * An engine exchanges small copies with its GPU in each step, and they wait behind those of saves. Measured on an
   * H200, p99 of vLLM's steps of 5.3 ms with one request while saves never end: +19 to 25 % as fast as the bus takes
   * them in portions of 32 MiB, +1.6 % with this in portions of 4 MiB. That engine computes 5 GB/s of blocks at most.
   */
  private static final String SAVE_RATE = "12GiB";

  private static final String NONE = "none";

  private static final int MAX_BANDS = 512;
  private static final int MAX_KERNEL_BLOCKS = 256;
  private static final int MAX_THREADS = 64;
  private static final int MAX_SAVE_PORTIONS = 64;
  private static final int MAX_DRAIN_SECONDS = 600;
  private static final int MAX_YIELD_MILLIS = 1000;
  /** The largest shard has less, so none lies in more than two chunks of the default size or larger. */
  private static final ByteSize MIN_PIN_CHUNK = ByteSize.parse("1MiB");

  static Settings of(Map<String, String> settings) {
    Set<String> unknown = new TreeSet<>(settings.keySet());
    unknown.removeAll(NAMES);
    if (!unknown.isEmpty()) {
      throw new RefusedException("device cuda has the settings " + new TreeSet<>(NAMES) + ", found " + unknown);
    }
    String rate = settings.getOrDefault("save-rate", SAVE_RATE);
    return new Settings(
        settings.getOrDefault("driver", Driver.LIBRARY),
        mode(settings, "loads"),
        mode(settings, "saves"),
        number(settings, "bands", 1, MAX_BANDS),
        number(settings, "kernel-blocks", 4, MAX_KERNEL_BLOCKS),
        Duration.ofMillis(number(settings, "yield-millis", 0, 2, MAX_YIELD_MILLIS)),
        rate.equals(NONE) ? Optional.empty() : Optional.of(size("save-rate", rate, MIN_PIN_CHUNK)),
        size("save-portion", settings.getOrDefault("save-portion", "4MiB"), MIN_PIN_CHUNK).bytes(),
        number(settings, "save-portions", 3, MAX_SAVE_PORTIONS),
        number(settings, "checksum-threads", defaultThreads(), MAX_THREADS),
        size("pin-chunk", settings.getOrDefault("pin-chunk", "256MiB"), MIN_PIN_CHUNK).bytes(),
        Duration.ofSeconds(number(settings, "drain-seconds", 20, MAX_DRAIN_SECONDS)));
  }

  /** One sums about 10 GB/s, and a bus brings 50. */
  private static int defaultThreads() {
    return Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, 8);
  }

  private static int number(Map<String, String> settings, String name, int otherwise, int most) {
    return number(settings, name, 1, otherwise, most);
  }

  private static CopyMode mode(Map<String, String> settings, String name) {
    String value = settings.getOrDefault(name, "direct");
    return switch (value) {
      case "direct", "kernel", "auto" -> CopyMode.valueOf(value.toUpperCase(Locale.ROOT));
      default -> throw new RefusedException(
          "setting " + name + " of device cuda is '" + value + "', expected direct, kernel or auto");
    };
  }

  private static int number(Map<String, String> settings, String name, int least, int otherwise, int most) {
    String value = settings.get(name);
    if (value == null) {
      return otherwise;
    }
    try {
      int number = Integer.parseInt(value);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Said below, as for a number that is out of range.
    }
    throw new RefusedException("setting " + name + " of device cuda is '" + value + "', expected " + least + " to " + most);
  }

  private static ByteSize size(String name, String value, ByteSize least) {
    ByteSize size = ByteSize.parse(value);
    if (size.bytes() < least.bytes()) {
      throw new RefusedException(
          "setting " + name + " of device cuda is " + value + ", expected " + least + " or more");
    }
    return size;
  }
}
