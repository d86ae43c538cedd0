package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.RecoverySink.SegmentState;
import io.orbitkv.api.spi.StoreStatus;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every field of every header, bit by bit: a flipped bit is a miss with a reason, never other bytes. */
class BitFlipTest {

  private static final int SEGMENT = 0;
  private static final long HEADER = SteppedStore.SUPERBLOCK.position(SEGMENT);
  private static final long RECORD = SteppedStore.SUPERBLOCK.position(SEGMENT, 1);
  private static final long SUMMARY = SteppedStore.SUPERBLOCK.position(SEGMENT + 1) - Page.BYTES;
  private static final long ENTRIES = SUMMARY - Page.BYTES;

  private final TestExtent damaged = new TestExtent(10, 2, 3000);
  private final TestExtent neighbour = new TestExtent(11, 1, 500);
  private final Random random = new Random(5);

  /** A disk with both extents in segment 0: the first at page 1, the second behind it. */
  private FaultyDisk disk(boolean sealed) throws IOException {
    FaultyDisk disk = new FaultyDisk(SteppedStore.SUPERBLOCK.fileBytes(), random);
    try (SteppedStore store = new SteppedStore(disk)) {
      store.activate(SEGMENT);
      assertThat(store.append(SEGMENT, damaged)).isEqualTo(1);
      assertThat(store.append(SEGMENT, neighbour)).isEqualTo(4);
      if (sealed) {
        store.seal(SEGMENT);
      }
    }
    return disk.kill();
  }

  @FunctionalInterface
  private interface Check {
    void afterFlip(FaultyDisk disk) throws IOException;
  }

  /** Flips each bit of a range, one at a time, and puts it back. */
  private static void eachBit(FaultyDisk disk, long from, int bytes, Check check) throws IOException {
    for (long at = from; at < from + bytes; at++) {
      for (int bit = 0; bit < Byte.SIZE; bit++) {
        disk.flip(at, bit);
        check.afterFlip(disk);
        disk.flip(at, bit);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "magic, 0, 8", "version, 8, 4", "reserved, 12, 4", "store id, 16, 16", "segment bytes, 32, 8", "segments, 40, 4",
    "created, 48, 8", "revision, 56, 8", "padding, 2000, 1", "checksum, 4092, 4"
  })
  void superblock_isNotIntact(String field, int offset, int bytes) {
    byte[] page = new byte[Page.BYTES];
    MemorySegment memory = MemorySegment.ofArray(page);
    Checksum checksum = new Checksum();
    SteppedStore.SUPERBLOCK.encode(memory, checksum);
    assertThat(Superblock.condition(memory, checksum)).isEqualTo(Superblock.Condition.INTACT);
    for (int at = offset; at < offset + bytes; at++) {
      for (int bit = 0; bit < Byte.SIZE; bit++) {
        page[at] ^= (byte) (1 << bit);
        assertThat(Superblock.condition(memory, checksum)).as(field).isEqualTo(switch (field) {
          case "magic" -> Superblock.Condition.FOREIGN;
          case "version" -> Superblock.Condition.OTHER_VERSION;
          default -> Superblock.Condition.DAMAGED;
        });
        page[at] ^= (byte) (1 << bit);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "magic, 0, 8", "version, 8, 4", "reserved, 12, 4", "store id, 16, 16", "generation, 32, 8", "segment, 40, 4",
    "padding, 3000, 1", "checksum, 4092, 4"
  })
  void segmentHeader_emptiesTheSegment(String field, int offset, int bytes) throws IOException {
    for (boolean sealed : new boolean[] {false, true}) {
      eachBit(disk(sealed), HEADER + offset, bytes, disk -> {
        try (SteppedStore store = new SteppedStore(disk)) {
          assertThat(store.found).as(field).isEmpty();
          assertThat(store.states).containsOnly(SegmentState.EMPTY);
          assertThat(store.report.dropped()).isEqualTo(Map.of("damaged-segment-header", 1L));
          assertThat(store.log.lines).anyMatch(line -> line.contains("damaged-segment-header=1"));
        }
      });
    }
  }

  @ParameterizedTest
  @CsvSource({
    "magic, 0, 8", "version, 8, 4", "reserved, 12, 4", "store id, 16, 16", "generation, 32, 8", "segment, 40, 4",
    "offset, 44, 4", "payload bytes, 48, 8", "shard bytes, 56, 4", "shards, 60, 4", "group, 64, 4", "depth, 68, 4",
    "namespace, 72, 32", "key, 104, 32", "parent, 136, 32", "shard checksums, 168, 8", "padding, 3000, 1",
    "checksum, 4092, 4"
  })
  void recordHeader_losesTheExtentAndNoOther(String field, int offset, int bytes) throws IOException {
    eachBit(disk(true), RECORD + offset, bytes, disk -> {
      try (SteppedStore store = new SteppedStore(disk)) {
        // The summary still lists it; the read finds out.
        assertThat(store.found).hasSize(2);
        assertThat(store.read(SEGMENT, 1, damaged)).as(field).isEqualTo(StoreStatus.MISMATCH);
        assertThat(store.log.lines).anyMatch(line -> line.contains("found another header"));
        assertThat(store.read(SEGMENT, 4, neighbour)).isEqualTo(StoreStatus.OK);
      }
    });
    eachBit(disk(false), RECORD + offset, bytes, disk -> {
      try (SteppedStore store = new SteppedStore(disk)) {
        assertThat(store.found).as(field).extracting(SteppedStore.Found::extent).containsExactly(neighbour);
        // What does not even claim to be of this generation is not told from what was there before.
        boolean claims = !field.equals("magic") && !field.equals("store id") && !field.equals("generation");
        assertThat(store.report.dropped())
            .isEqualTo(claims ? Map.of("damaged-extent-header", 1L) : Map.of());
      }
    });
  }

  @ParameterizedTest
  @CsvSource({"first shard, 4096, 2", "end of the first shard, 7095, 1", "second shard, 7096, 2", "last byte, 10095, 1"})
  void payload_losesTheExtentAndNoOther(String field, int offset, int bytes) throws IOException {
    eachBit(disk(true), RECORD + offset, bytes, disk -> {
      try (SteppedStore store = new SteppedStore(disk)) {
        assertThat(store.read(SEGMENT, 1, damaged)).as(field).isEqualTo(StoreStatus.CORRUPT);
        assertThat(store.log.lines).anyMatch(line -> line.contains("wrong bytes in shard"));
        assertThat(store.read(SEGMENT, 4, neighbour)).isEqualTo(StoreStatus.OK);
      }
    });
    eachBit(disk(false), RECORD + offset, bytes, disk -> {
      try (SteppedStore store = new SteppedStore(disk)) {
        assertThat(store.found).as(field).extracting(SteppedStore.Found::extent).containsExactly(neighbour);
        assertThat(store.report.dropped()).isEqualTo(Map.of("torn-extent", 1L));
      }
    });
  }

  @ParameterizedTest
  @CsvSource({
    "magic, 0, 8", "version, 8, 4", "reserved, 12, 4", "store id, 16, 16", "generation, 32, 8", "segment, 40, 4",
    "entries, 44, 4", "entries' checksum, 48, 4", "padding, 3000, 1", "checksum, 4092, 4"
  })
  void summaryPage_isReplacedByAScan(String field, int offset, int bytes) throws IOException {
    eachBit(disk(true), SUMMARY + offset, bytes, disk -> assertScannedWhole(field, disk));
  }

  @ParameterizedTest
  @CsvSource({
    "offset, 0, 4", "group, 4, 4", "depth, 8, 4", "shard bytes, 12, 4", "shards, 16, 4", "reserved, 20, 12",
    "namespace, 32, 32", "key, 64, 32", "parent, 96, 32", "second entry, 128, 128"
  })
  void summaryEntry_isReplacedByAScan(String field, int offset, int bytes) throws IOException {
    eachBit(disk(true), ENTRIES + offset, bytes, disk -> assertScannedWhole(field, disk));
  }

  private void assertScannedWhole(String field, FaultyDisk disk) throws IOException {
    try (SteppedStore store = new SteppedStore(disk)) {
      assertThat(store.found).as(field).extracting(SteppedStore.Found::extent).containsExactly(damaged, neighbour);
      assertThat(store.found).extracting(SteppedStore.Found::state).containsOnly(SegmentState.UNSEALED);
      assertThat(store.report.dropped()).isEqualTo(Map.of("damaged-summary", 1L));
      assertThat(store.read(SEGMENT, 1, damaged)).isEqualTo(StoreStatus.OK);
      assertThat(store.read(SEGMENT, 4, neighbour)).isEqualTo(StoreStatus.OK);
    }
  }
}
