package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.spi.ExtentHeader;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * What a sealed segment holds, in short, at its very end: the entries, padded to whole pages, then one page with their
 * number and checksums. Its place depends on nothing but the segment, so recovery finds it with one read; its size
 * depends on the number of entries, and placement keeps that room free.
 */
final class Summary {

  /** Bytes of an entry. */
  static final int ENTRY_BYTES = 128;

  private static final long MAGIC = Page.magic("OKVSUMRY");

  // The last page.
  private static final int GENERATION = 32;
  private static final int SEGMENT = 40;
  private static final int ENTRIES = 44;
  private static final int ENTRIES_CRC = 48;

  // An entry.
  private static final int OFFSET = 0;
  private static final int GROUP = 4;
  private static final int DEPTH = 8;
  private static final int SHARD_BYTES = 12;
  private static final int SHARDS = 16;
  private static final int NAMESPACE = 32;
  private static final int KEY = 64;
  private static final int PARENT = 96;

  private static final int[] NO_CRCS = {};

  private Summary() {}

  /** Returns the bytes of a summary, its last page included. */
  static long bytes(int entries) {
    return entriesBytes(entries) + Page.BYTES;
  }

  /** Returns the bytes of the entries in whole pages. */
  static long entriesBytes(int entries) {
    return Page.roundUp((long) entries * ENTRY_BYTES);
  }

  /** Returns the most entries that a segment can hold: each belongs to a record of two pages or more. */
  static int mostEntries(long segmentBytes) {
    return (int) (segmentBytes / (2 * Page.BYTES));
  }

  /**
   * The entries of one segment until it is sealed, in the form in which the summary has them: {@link #ENTRY_BYTES} each
   * and no object per extent. Owned by the driver once the store is in service.
   */
  static final class Entries {

    private byte[] bytes = {};
    private MemorySegment view = MemorySegment.ofArray(bytes);
    private int count;

    int count() {
      return count;
    }

    void clear() {
      bytes = new byte[0];
      view = MemorySegment.ofArray(bytes);
      count = 0;
    }

    void add(int offset, ExtentHeader extent, int shards) {
      int at = count * ENTRY_BYTES;
      if (at == bytes.length) {
        bytes = Arrays.copyOf(bytes, Math.max(32 * ENTRY_BYTES, bytes.length * 2));
        view = MemorySegment.ofArray(bytes);
      }
      Page.putInt(view, at + OFFSET, offset);
      Page.putInt(view, at + GROUP, extent.group());
      Page.putInt(view, at + DEPTH, extent.depth());
      Page.putInt(view, at + SHARD_BYTES, extent.shardBytes());
      Page.putInt(view, at + SHARDS, shards);
      Page.putDigest(view, at + NAMESPACE, extent.namespace().digest());
      Page.putDigest(view, at + KEY, extent.key());
      Page.putDigest(view, at + PARENT, extent.parent());
      count++;
    }
  }

  /** Fills {@link #bytes} bytes of zeroed memory. */
  static void encode(
      MemorySegment summary, StoreId store, int segment, long generation, Entries entries, Checksum checksum) {
    long used = (long) entries.count * ENTRY_BYTES;
    MemorySegment.copy(entries.view, 0, summary, 0, used);
    MemorySegment page = summary.asSlice(entriesBytes(entries.count), Page.BYTES);
    Page.begin(page, MAGIC, store);
    Page.putLong(page, GENERATION, generation);
    Page.putInt(page, SEGMENT, segment);
    Page.putInt(page, ENTRIES, entries.count);
    Page.putInt(page, ENTRIES_CRC, checksum.of(summary, 0, used));
    Page.end(page, checksum);
  }

  /** Returns whether a page is the intact last page of a summary of this segment of this store, of any generation. */
  static boolean isIntact(MemorySegment page, StoreId store, int segment, long segmentBytes, Checksum checksum) {
    return Page.hasMagic(page, MAGIC)
        && Page.version(page) == Page.FORMAT_VERSION
        && Page.isOf(page, store)
        && Page.getInt(page, SEGMENT) == segment
        && Page.isIntact(page, checksum)
        && entries(page) >= 0
        && entries(page) <= mostEntries(segmentBytes);
  }

  static long generation(MemorySegment page) {
    return Page.getLong(page, GENERATION);
  }

  static int entries(MemorySegment page) {
    return Page.getInt(page, ENTRIES);
  }

  static int entriesCrc(MemorySegment page) {
    return Page.getInt(page, ENTRIES_CRC);
  }

  /** Reads entries that lie one behind another in memory whose checksum is right. */
  static final class Reader {

    private final MemorySegment entries;
    private Namespace namespace = new Namespace(Digest.ZERO);
    private long at = -ENTRY_BYTES;

    Reader(MemorySegment entries) {
      this.entries = entries;
    }

    void moveTo(int entry) {
      at = (long) entry * ENTRY_BYTES;
    }

    int offset() {
      return Page.getInt(entries, at + OFFSET);
    }

    int shards() {
      return Page.getInt(entries, at + SHARDS);
    }

    long payloadBytes() {
      return (long) shards() * Page.getInt(entries, at + SHARD_BYTES);
    }

    /** Returns whether the entry's record lies inside its segment. */
    boolean isSane(long segmentBytes) {
      long from = (long) offset() * Page.BYTES;
      int shards = shards();
      return offset() >= 1
          && shards >= 1
          && shards <= RecordHeader.MAX_SHARDS
          && Page.getInt(entries, at + SHARD_BYTES) >= 1
          && from + Page.roundUp(Page.BYTES + payloadBytes()) <= segmentBytes - Page.BYTES;
    }

    /** Returns the extent, without the checksums, which a summary does not carry. */
    ExtentHeader extent() {
      if (!Page.hasDigest(entries, at + NAMESPACE, namespace.digest())) {
        // Neighbours mostly share it: one object for a run of equal ones.
        namespace = new Namespace(Page.getDigest(entries, at + NAMESPACE));
      }
      return new ExtentHeader(
          namespace,
          Page.getInt(entries, at + GROUP),
          Page.getDigest(entries, at + KEY),
          Page.getDigest(entries, at + PARENT),
          Page.getInt(entries, at + DEPTH),
          Page.getInt(entries, at + SHARD_BYTES),
          NO_CRCS);
    }
  }
}
