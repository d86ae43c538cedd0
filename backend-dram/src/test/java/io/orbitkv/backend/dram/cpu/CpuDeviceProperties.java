package io.orbitkv.backend.dram.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

class CpuDeviceProperties {

  private final Device device = new CpuBackend().open(new DeviceOptions(0, Map.of()));

  @Provide
  Arbitrary<PageLayout> layouts() {
    return Combinators.combine(
            Arbitraries.integers().between(1, 5), Arbitraries.integers().between(1, 6),
            Arbitraries.integers().between(1, 40), Arbitraries.integers().between(0, 9), Arbitraries.of(true, false))
        .as((layers, pages, pageBytes, gap, layerMajor) -> {
          long inner = pageBytes + gap / 5;
          long outer = inner * (layerMajor ? pages : layers) + gap % 3;
          return new PageLayout(layers, pages, pageBytes, layerMajor ? outer : inner, layerMajor ? inner : outer);
        });
  }

  @Property(tries = 300)
  void saveAndRestore_moveExactlyTheNamedPages(@ForAll("layouts") PageLayout layout, @ForAll long seed) {
    Random random = new Random(seed);
    byte[] source = new byte[(int) layout.poolBytes() + random.nextInt(3)];
    byte[] target = new byte[(int) layout.poolBytes()];
    random.nextBytes(source);
    random.nextBytes(target);
    byte[] expected = target.clone();
    int[] from = distinct(random, layout.pages());
    int[] to = Arrays.copyOf(distinct(random, layout.pages()), from.length);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pool = arena.allocate(source.length).copyFrom(MemorySegment.ofArray(source));
      MemorySegment[] shards = new MemorySegment[from.length];
      for (int i = 0; i < shards.length; i++) {
        shards[i] = arena.allocate(layout.shardBytes() + random.nextInt(2));
      }
      Transfer save = device.save(device.pages(layout, pool), from, shards);
      for (int i = 0; i < from.length; i++) {
        byte[] shard = naiveShard(layout, source, from[i]);
        assertThat(shards[i].asSlice(0, shard.length).mismatch(MemorySegment.ofArray(shard))).isEqualTo(-1);
        CRC32C crc = new CRC32C();
        crc.update(shard);
        assertThat(save.checksum(i)).isEqualTo((int) crc.getValue());
        for (int layer = 0; layer < layout.layers(); layer++) {
          System.arraycopy(shard, layer * layout.pageBytes(), expected,
              (int) (layer * layout.layerStride() + to[i] * layout.pageStride()), layout.pageBytes());
        }
      }
      MemorySegment heapPool = MemorySegment.ofArray(target);
      Transfer restore = device.restore(device.pages(layout, heapPool), to, shards);
      assertThat(target).isEqualTo(expected);
      assertThat(restore.enqueued() && restore.drained() && restore.layerReady(layout.layers() - 1)).isTrue();
      restore.awaitDrained();
      assertThatThrownBy(() -> restore.checksum(0)).isInstanceOf(IllegalStateException.class);
    }
  }

  private static byte[] naiveShard(PageLayout layout, byte[] pool, int page) {
    byte[] shard = new byte[layout.shardBytes()];
    for (int i = 0; i < shard.length; i++) {
      int layer = i / layout.pageBytes();
      shard[i] = pool[(int) (layer * layout.layerStride() + page * layout.pageStride() + i % layout.pageBytes())];
    }
    return shard;
  }

  private static int[] distinct(Random random, int pages) {
    int[] ids = random.ints(0, pages).distinct().limit(pages).toArray();
    return ids;
  }

  @Example
  void mistakes_areRefusedBeforeAByteMoves() {
    PageLayout layout = new PageLayout(2, 4, 8, 32, 8);
    byte[] bytes = new byte[64];
    MemorySegment pool = MemorySegment.ofArray(bytes);
    EnginePages pages = device.pages(layout, pool);
    byte[] ones = new byte[16];
    Arrays.fill(ones, (byte) 1);
    MemorySegment shard = MemorySegment.ofArray(ones);
    MemorySegment[] two = {shard, shard};
    assertRefused(() -> device.restore(pages, new int[] {0, 4}, two), "page 4 of block 1 is not in 0 to 3");
    assertRefused(() -> device.restore(pages, new int[] {0, -1}, two), "page -1");
    assertRefused(() -> device.restore(pages, new int[] {3, 3}, two), "page 3 is the target of two blocks");
    assertRefused(() -> device.restore(pages, new int[] {0}, two), "1 pages and 2 shards");
    assertRefused(() -> device.restore(pages, new int[] {0, 1}, new MemorySegment[] {shard, shard.asSlice(1)}),
        "shard 1 has 15 bytes, expected 16");
    assertRefused(() -> device.save(pages, new int[] {0}, new MemorySegment[] {shard.asReadOnly()}), "read-only");
    assertRefused(() -> device.restore(device.pages(layout, pool.asReadOnly()), new int[] {0},
        new MemorySegment[] {shard}), "read-only");
    assertRefused(() -> device.pages(layout, pool.asSlice(1)), "63 bytes, expected at least 64");
    assertThat(bytes).containsOnly(0);
  }

  @Example
  void closedPagesAndDevices_refuseWork() {
    EnginePages pages = device.pages(new PageLayout(1, 1, 8, 8, 8), MemorySegment.ofArray(new byte[8]));
    pages.close();
    assertThatThrownBy(() -> device.save(pages, new int[0], new MemorySegment[0])).isInstanceOf(ClosedException.class);
    device.close();
    assertThatThrownBy(() -> device.pages(pages.layout(), MemorySegment.ofArray(new byte[8])))
        .isInstanceOf(ClosedException.class);
  }

  @Example
  void otherOrdinalsAndSettings_areRefused() {
    CpuBackend backend = new CpuBackend();
    assertThatThrownBy(() -> backend.open(new DeviceOptions(1, Map.of())))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("ordinal 1");
    assertRefused(() -> backend.open(new DeviceOptions(0, Map.of("threads", "2"))), "threads");
  }

  private static void assertRefused(ThrowingCallable call, String message) {
    assertThatThrownBy(call).isInstanceOf(RefusedException.class).hasMessageContaining(message);
  }
}
