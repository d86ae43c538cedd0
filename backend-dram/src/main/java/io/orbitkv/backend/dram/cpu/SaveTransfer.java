package io.orbitkv.backend.dram.cpu;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.zip.CRC32C;

/** Pages to shards, with a checksum a shard. A portion is some whole blocks. */
final class SaveTransfer extends CpuTransfer {

  /** Copied, then summed while it is still in the processor's first-level cache. */
  private static final int CHUNK_BYTES = 8 << 10;

  /** Within a page the processor sees by itself where a copy goes, once it has seen the first lines. */
  private static final int PAGE_BYTES = 4 << 10;

  private static final int LINE_BYTES = 64;
  private static final int FETCHED_BYTES = 8 * LINE_BYTES;

  private final int[] checksums;
  private final int blocksAtOnce;

  /** Means nothing; what is read and not kept would not be read. */
  private int fetched;

  private SaveTransfer(HostPages pages, int[] pageIds, MemorySegment[] shards, int blocksAtOnce) {
    super(pages, pageIds, shards, Math.ceilDiv(pageIds.length, blocksAtOnce));
    this.checksums = new int[pageIds.length];
    this.blocksAtOnce = blocksAtOnce;
  }

  static SaveTransfer of(HostPages pages, int[] pageIds, MemorySegment[] shards) {
    return new SaveTransfer(pages, pageIds, shards, Math.max(1, PORTION_BYTES / pages.shardBytes()));
  }

  @Override
  void copy(int portion) {
    CRC32C crc = new CRC32C();
    List<Stripe> stripes = pages.stripes();
    int from = portion * blocksAtOnce;
    int to = Math.min(from + blocksAtOnce, pageIds.length);
    for (int block = from; block < to; block++) {
      crc.reset();
      for (int i = 0; i < stripes.size(); i++) {
        Stripe stripe = stripes.get(i);
        copy(crc, stripe.poolAt(pageIds[block]), shards[block], stripe.shardAt(), stripe.bytes());
      }
      checksums[block] = (int) crc.getValue();
    }
  }

  private void copy(CRC32C crc, long source, MemorySegment shard, long target, int bytes) {
    ByteBuffer summed = pages.buffer(source, bytes);
    for (int at = 0; at < bytes; at += CHUNK_BYTES) {
      summed.limit(Math.min(at + CHUNK_BYTES, bytes));
      MemorySegment.copy(pool, source + at, shard, target + at, summed.remaining());
      int next = at + CHUNK_BYTES;
      fetched += fetch(shard, target + next, target + Math.min(next + CHUNK_BYTES, bytes));
      // Of the source, so that a page written during the copy cannot pass as whole.
      crc.update(summed);
    }
  }

  /** Begins to bring in what the next chunk goes to, so that memory works while the processor sums. */
  private static int fetch(MemorySegment shard, long from, long to) {
    int sum = 0;
    for (long page = from; page < to; page += PAGE_BYTES) {
      for (long line = page; line < Math.min(page + FETCHED_BYTES, to); line += LINE_BYTES) {
        sum += shard.get(ValueLayout.JAVA_BYTE, line);
      }
    }
    return sum;
  }

  /** A save has no order of layers: each has left the pages when all have. */
  @Override
  public boolean layerReady(int layer) {
    Objects.checkIndex(layer, pages.layout().layers());
    return drained() && failure().isEmpty();
  }

  @Override
  public int checksum(int index) {
    if (!drained()) {
      throw new IllegalStateException("the save is not drained; its checksums are not complete");
    }
    failure().ifPresent(cause -> {
      throw new IllegalStateException("the save failed; it has no checksums", cause);
    });
    return checksums[index];
  }
}
