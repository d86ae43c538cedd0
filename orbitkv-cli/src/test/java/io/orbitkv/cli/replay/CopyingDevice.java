package io.orbitkv.cli.replay;

import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/** A device that copies at once, or, to be caught, not at all. */
final class CopyingDevice implements Device {

  private final boolean copies;

  CopyingDevice(boolean copies) {
    this.copies = copies;
  }

  private record Pages(PoolLayout layout, MemorySegment pool) implements EnginePages {
    @Override
    public void close() {}

    MemorySegment page(int page, int layer) {
      PageLayout group = layout.groups().getFirst();
      return pool.asSlice(group.offset(layer, page), group.pageBytes());
    }
  }

  private record Done(int[] checksums) implements Transfer {
    @Override
    public boolean enqueued() {
      return true;
    }

    @Override
    public boolean layerReady(int layer) {
      return true;
    }

    @Override
    public boolean drained() {
      return true;
    }

    @Override
    public void awaitDrained() {}

    @Override
    public int checksum(int index) {
      return checksums[index];
    }
  }

  @Override
  public EnginePages pages(PoolLayout layout, MemorySegment pool) {
    return new Pages(layout, pool);
  }

  @Override
  public EnginePages open(String memory, PoolLayout layout) {
    throw new UnsupportedOperationException("a replay has pools of its own");
  }

  @Override
  public Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    int pageBytes = pages.layout().groups().getFirst().pageBytes();
    int[] checksums = new int[shards.length];
    for (int i = 0; i < shards.length; i++) {
      for (int layer = 0; layer < pages.layout().layers(); layer++) {
        MemorySegment.copy(((Pages) pages).page(pageIds[i], layer), 0, shards[i], (long) layer * pageBytes, pageBytes);
      }
      CRC32C crc = new CRC32C();
      crc.update(shards[i].asByteBuffer());
      checksums[i] = (int) crc.getValue();
    }
    return new Done(checksums);
  }

  @Override
  public Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    int pageBytes = pages.layout().groups().getFirst().pageBytes();
    for (int i = 0; copies && i < shards.length; i++) {
      for (int layer = 0; layer < pages.layout().layers(); layer++) {
        MemorySegment.copy(shards[i], (long) layer * pageBytes, ((Pages) pages).page(pageIds[i], layer), 0, pageBytes);
      }
    }
    return new Done(new int[0]);
  }

  @Override
  public void close() {}
}
