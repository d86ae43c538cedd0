package io.example.held;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32C;

/** Every transfer has a thread of its own. */
final class HeldDevice implements Device {

  private static final long LOOK_NANOS = Duration.ofMillis(2).toNanos();

  private final Path gate;
  private final ExecutorService copying = Executors.newCachedThreadPool();

  HeldDevice(Path gate) {
    this.gate = gate;
  }

  private record Pages(PoolLayout layout, MemorySegment pool, Arena arena) implements EnginePages {
    @Override
    public void close() {
      arena.close();
    }
  }

  @Override
  public EnginePages pages(PoolLayout layout, MemorySegment pool) {
    return new Pages(layout, pool, Arena.ofShared());
  }

  @Override
  public EnginePages open(String memory, PoolLayout layout) {
    Arena arena = Arena.ofShared();
    try (FileChannel file = FileChannel.open(Path.of(memory), READ, WRITE)) {
      return new Pages(layout, file.map(MapMode.READ_WRITE, 0, layout.poolBytes(), arena), arena);
    } catch (IOException e) {
      arena.close();
      throw new UnavailableException("the pool " + memory + " cannot be mapped", e);
    }
  }

  @Override
  public Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    return begin((Pages) pages, pageIds, shards, true);
  }

  @Override
  public Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    return begin((Pages) pages, pageIds, shards, false);
  }

  private Transfer begin(Pages pages, int[] pageIds, MemorySegment[] shards, boolean out) {
    int[] sums = new int[shards.length];
    return new Copies(sums, copying.submit(() -> {
      for (int block = 0; block < shards.length; block++) {
        if (block == shards.length / 2) {
          awaitGate();
        }
        sums[block] = copy(pages, pageIds[block], shards[block], out);
      }
    }));
  }

  private void awaitGate() {
    while (Files.exists(gate)) {
      LockSupport.parkNanos(LOOK_NANOS);
    }
  }

  private static int copy(Pages pages, int page, MemorySegment shard, boolean out) {
    CRC32C crc = new CRC32C();
    long at = 0;
    for (PageLayout group : pages.layout.groups()) {
      for (int layer = 0; layer < group.layers(); layer++) {
        MemorySegment piece = pages.pool.asSlice(group.offset(layer, page), group.pageBytes());
        MemorySegment part = shard.asSlice(at, group.pageBytes());
        if (out) {
          part.copyFrom(piece);
        } else {
          piece.copyFrom(part);
        }
        crc.update(piece.asByteBuffer());
        at += group.pageBytes();
      }
    }
    return (int) crc.getValue();
  }

  @Override
  public void close() {
    copying.close();
  }

  /** One transfer. */
  private record Copies(int[] sums, Future<?> end) implements Transfer {
    @Override
    public boolean enqueued() {
      return true;
    }

    @Override
    public boolean layerReady(int layer) {
      return drained();
    }

    @Override
    public boolean drained() {
      return end.isDone();
    }

    @Override
    public void awaitDrained() {
      try {
        end.get();
      } catch (Exception e) {
        throw new IllegalStateException("copies of this device do not fail", e);
      }
    }

    @Override
    public int checksum(int index) {
      return sums[index];
    }
  }
}
