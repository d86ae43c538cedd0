package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.StoreStatus;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Holds {@code docs/store-format.md} to account: the offsets and values here are that page's, written out again and not
 * taken from the code.
 */
class StoreFormatTest {

  private static final int SEGMENT_0 = 65_536;
  private static final int SEGMENT_1 = SEGMENT_0 + 65_536;

  private byte[] file;
  private final TestExtent first = new TestExtent(0x0102030405060708L, 2, 3000);
  private final TestExtent second = new TestExtent(42, 1, 100);

  /** Activates segment 1, then 0; appends two extents to 0; seals it. */
  @BeforeEach
  void writeAStore() throws IOException {
    FaultyDisk disk = new FaultyDisk(SteppedStore.SUPERBLOCK.fileBytes(), new Random(1));
    try (SteppedStore store = new SteppedStore(disk)) {
      assertThat(store.activate(1)).isEqualTo(StoreStatus.OK);
      assertThat(store.activate(0)).isEqualTo(StoreStatus.OK);
      assertThat(store.append(0, first)).isEqualTo(1);
      assertThat(store.append(0, second)).isEqualTo(4);
      assertThat(store.seal(0)).isEqualTo(StoreStatus.OK);
    }
    file = disk.image();
  }

  @Test
  void superblockHasTheDocumentedBytes() {
    file = new byte[4096];
    SteppedStore.SUPERBLOCK.encode(MemorySegment.ofArray(file), new Checksum());
    assertHead(0, "ORBITKVS");
    assertThat(u64(32)).isEqualTo(65_536);
    assertThat(u32(40)).isEqualTo(3);
    assertThat(u64(48)).isEqualTo(1_700_000_000_000L);
    assertThat(u64(56)).isEqualTo(1);
    assertZero(44, 48);
    assertZero(64, 4092);
    assertThat(Superblock.COPIES).containsExactly(0L, 32_768L);
    assertThat(SteppedStore.SUPERBLOCK.fileBytes()).isEqualTo(65_536 + 3 * 65_536);
  }

  @Test
  void segmentHeaderHasTheDocumentedBytes() {
    assertHead(SEGMENT_0, "OKVSEGMT");
    assertThat(u64(SEGMENT_0 + 32)).as("generation").isEqualTo(2);
    assertThat(u32(SEGMENT_0 + 40)).as("segment").isEqualTo(0);
    assertZero(SEGMENT_0 + 44, SEGMENT_0 + 4092);
    assertHead(SEGMENT_1, "OKVSEGMT");
    assertThat(u64(SEGMENT_1 + 32)).isEqualTo(1);
    assertThat(u32(SEGMENT_1 + 40)).isEqualTo(1);
  }

  @Test
  void recordHasTheDocumentedBytes() {
    int record = SEGMENT_0 + 4096;
    assertHead(record, "OKVEXTNT");
    assertThat(u64(record + 32)).as("generation").isEqualTo(2);
    assertThat(u32(record + 40)).as("segment").isEqualTo(0);
    assertThat(u32(record + 44)).as("offset").isEqualTo(1);
    assertThat(u64(record + 48)).as("payload").isEqualTo(6000);
    assertThat(u32(record + 56)).as("shard bytes").isEqualTo(3000);
    assertThat(u32(record + 60)).as("shards").isEqualTo(2);
    assertThat(u32(record + 64)).as("group").isEqualTo(3);
    assertThat(u32(record + 68)).as("depth").isEqualTo(0x05060708);
    // SHA-256 of the byte 1.
    assertThat(hex(record + 72, 32)).isEqualTo("4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a");
    assertThat(hex(record + 104, 32)).isEqualTo("0102030405060708000000000000000100000000000000020000000000000003");
    assertThat(hex(record + 136, 32)).isEqualTo("0102030405060707000000000000000100000000000000020000000000000003");
    assertThat(u32(record + 168)).isEqualTo(crc(record + 4096, 3000));
    assertThat(u32(record + 172)).isEqualTo(crc(record + 7096, 3000));
    assertZero(record + 176, record + 4092);
    assertThat(first.isIn(MemorySegment.ofArray(Arrays.copyOfRange(file, record, record + 3 * 4096)))).isTrue();
    assertZero(record + 10_096, record + 3 * 4096);
    assertThat(u32(record + 3 * 4096 + 44)).as("offset of the second").isEqualTo(4);
  }

  @Test
  void summaryHasTheDocumentedBytes() {
    int page = SEGMENT_1 - 4096;
    int entries = page - 4096;
    assertHead(page, "OKVSUMRY");
    assertThat(u64(page + 32)).as("generation").isEqualTo(2);
    assertThat(u32(page + 40)).as("segment").isEqualTo(0);
    assertThat(u32(page + 44)).as("entries").isEqualTo(2);
    assertThat(u32(page + 48)).isEqualTo(crc(entries, 2 * 128));
    assertZero(page + 52, page + 4092);

    assertThat(u32(entries)).as("offset").isEqualTo(1);
    assertThat(u32(entries + 4)).as("group").isEqualTo(3);
    assertThat(u32(entries + 8)).as("depth").isEqualTo(0x05060708);
    assertThat(u32(entries + 12)).as("shard bytes").isEqualTo(3000);
    assertThat(u32(entries + 16)).as("shards").isEqualTo(2);
    assertZero(entries + 20, entries + 32);
    int record = SEGMENT_0 + 4096;
    assertThat(hex(entries + 32, 32)).isEqualTo(hex(record + 72, 32));
    assertThat(hex(entries + 64, 32)).isEqualTo(hex(record + 104, 32));
    assertThat(hex(entries + 96, 32)).isEqualTo(hex(record + 136, 32));
    assertThat(u32(entries + 128)).as("offset of the second").isEqualTo(4);
    assertZero(entries + 256, page);
  }

  private void assertHead(int page, String magic) {
    assertThat(new String(file, page, 8, StandardCharsets.US_ASCII)).isEqualTo(magic);
    assertThat(u32(page + 8)).as("version").isEqualTo(1);
    assertZero(page + 12, page + 16);
    assertThat(hex(page + 16, 16)).as("store id").isEqualTo("00ffeeddccbbaa998877665544332211");
    assertThat(u32(page + 4092)).as("checksum").isEqualTo(crc(page, 4092));
  }

  private void assertZero(int from, int to) {
    byte[] range = Arrays.copyOfRange(file, from, to);
    assertThat(range).as("bytes %d to %d", from, to).isEqualTo(new byte[to - from]);
  }

  private int u32(int at) {
    return ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getInt(at);
  }

  private long u64(int at) {
    return ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getLong(at);
  }

  private String hex(int at, int bytes) {
    return HexFormat.of().formatHex(file, at, at + bytes);
  }

  private int crc(int at, int bytes) {
    CRC32C crc = new CRC32C();
    crc.update(file, at, bytes);
    return (int) crc.getValue();
  }
}
