package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.Namespace;
import io.orbitkv.api.spi.ExtentHeader;
import java.lang.foreign.MemorySegment;

/**
 * The page before an extent's bytes: what they are, and where and when they were written. The place and the generation
 * are in it so that a record that is intact but lies elsewhere, or is left from an earlier use of its segment, is seen
 * for what it is.
 */
final class RecordHeader {

  /** The most shards that a header has room for. */
  static final int MAX_SHARDS = 256;

  private static final long MAGIC = Page.magic("OKVEXTNT");

  private static final int GENERATION = 32;
  private static final int SEGMENT = 40;
  private static final int OFFSET = 44;
  private static final int PAYLOAD_BYTES = 48;
  private static final int SHARD_BYTES = 56;
  private static final int SHARDS = 60;
  private static final int GROUP = 64;
  private static final int DEPTH = 68;
  private static final int NAMESPACE = 72;
  private static final int KEY = 104;
  private static final int PARENT = 136;
  private static final int SHARD_CRCS = 168;

  private RecordHeader() {}

  /**
   * Where and when a record was written.
   *
   * @param store the store
   * @param segment the segment
   * @param generation the segment's generation then
   * @param offset pages from the segment's start
   */
  record Place(StoreId store, int segment, long generation, int offset) {}

  static void encode(MemorySegment page, Place place, ExtentHeader extent, Checksum checksum) {
    Page.begin(page, MAGIC, place.store());
    Page.putLong(page, GENERATION, place.generation());
    Page.putInt(page, SEGMENT, place.segment());
    Page.putInt(page, OFFSET, place.offset());
    Page.putLong(page, PAYLOAD_BYTES, extent.payloadBytes());
    Page.putInt(page, SHARD_BYTES, extent.shardBytes());
    Page.putInt(page, SHARDS, extent.shardCrcs().length);
    Page.putInt(page, GROUP, extent.group());
    Page.putInt(page, DEPTH, extent.depth());
    Page.putDigest(page, NAMESPACE, extent.namespace().digest());
    Page.putDigest(page, KEY, extent.key());
    Page.putDigest(page, PARENT, extent.parent());
    int[] crcs = extent.shardCrcs();
    for (int shard = 0; shard < crcs.length; shard++) {
      Page.putInt(page, SHARD_CRCS + shard * Integer.BYTES, crcs[shard]);
    }
    Page.end(page, checksum);
  }

  /** Returns whether a page claims to be a record of a generation, intact or not. */
  static boolean claims(MemorySegment page, Place place) {
    return Page.hasMagic(page, MAGIC)
        && Page.isOf(page, place.store())
        && Page.getLong(page, GENERATION) == place.generation();
  }

  /**
   * Compares a page with the place it was read from.
   *
   * @return what is wrong with it, or null if it is the intact header of a record of this place
   */
  static String wrongPlace(MemorySegment page, Place place, Checksum checksum) {
    if (!Page.hasMagic(page, MAGIC)) {
      return "no record begins there";
    }
    if (Page.version(page) != Page.FORMAT_VERSION) {
      return "format version " + Page.version(page) + ", expected " + Page.FORMAT_VERSION;
    }
    if (!Page.isIntact(page, checksum)) {
      return "header checksum differs";
    }
    if (!Page.isOf(page, place.store())) {
      return "record of store " + Page.store(page) + ", expected " + place.store();
    }
    if (Page.getInt(page, SEGMENT) != place.segment() || Page.getInt(page, OFFSET) != place.offset()) {
      return "record of segment " + Page.getInt(page, SEGMENT) + " offset " + Page.getInt(page, OFFSET);
    }
    if (Page.getLong(page, GENERATION) != place.generation()) {
      return "generation " + Page.getLong(page, GENERATION) + ", expected " + place.generation();
    }
    return null;
  }

  /**
   * Compares an intact page with the extent that it should be the header of.
   *
   * @return what differs, or null
   */
  static String wrongExtent(MemorySegment page, ExtentHeader expected) {
    if (!Page.hasDigest(page, NAMESPACE, expected.namespace().digest())) {
      return "another namespace";
    }
    if (Page.getInt(page, GROUP) != expected.group()) {
      return "group " + Page.getInt(page, GROUP) + ", expected " + expected.group();
    }
    if (!Page.hasDigest(page, KEY, expected.key())) {
      return "another key";
    }
    if (shards(page) != expected.shardCrcs().length
        || shardBytes(page) != expected.shardBytes()
        || Page.getLong(page, PAYLOAD_BYTES) != expected.payloadBytes()) {
      return shards(page) + " shards of " + shardBytes(page) + " bytes, expected " + expected.shardCrcs().length
          + " of " + expected.shardBytes();
    }
    return null;
  }

  /** Returns whether a page in memory is a header that this store put there. */
  static boolean isHeader(MemorySegment page) {
    return Page.hasMagic(page, MAGIC) && isSane(page);
  }

  /** Returns whether the shape in an intact page is one that {@link #encode} would write. */
  static boolean isSane(MemorySegment page) {
    int shards = shards(page);
    return shards >= 1
        && shards <= MAX_SHARDS
        && shardBytes(page) >= 1
        && Page.getLong(page, PAYLOAD_BYTES) == (long) shards * shardBytes(page);
  }

  static int shards(MemorySegment page) {
    return Page.getInt(page, SHARDS);
  }

  static int shardBytes(MemorySegment page) {
    return Page.getInt(page, SHARD_BYTES);
  }

  static int shardCrc(MemorySegment page, int shard) {
    return Page.getInt(page, SHARD_CRCS + shard * Integer.BYTES);
  }

  /** Returns what an intact, sane page says about its extent. */
  static ExtentHeader extent(MemorySegment page) {
    int[] crcs = new int[shards(page)];
    for (int shard = 0; shard < crcs.length; shard++) {
      crcs[shard] = shardCrc(page, shard);
    }
    return new ExtentHeader(
        new Namespace(Page.getDigest(page, NAMESPACE)),
        Page.getInt(page, GROUP),
        Page.getDigest(page, KEY),
        Page.getDigest(page, PARENT),
        Page.getInt(page, DEPTH),
        shardBytes(page),
        crcs);
  }
}
