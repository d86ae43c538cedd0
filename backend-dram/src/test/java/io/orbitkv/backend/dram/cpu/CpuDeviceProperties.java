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
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.lifecycle.AfterProperty;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

class CpuDeviceProperties {

  private final Device device = open(Map.of());

  @AfterProperty
  void closeDevice() {
    device.close();
  }

  private static Device open(Map<String, String> settings) {
    return new CpuBackend().open(new DeviceOptions(0, settings));
  }

  /** A pool of one to three groups, some of them with layers large enough to arrive one by one. */
  @Provide
  Arbitrary<PoolLayout> layouts() {
    return Combinators.combine(
            Arbitraries.integers().between(1, 6), Arbitraries.longs(), Arbitraries.integers().between(1, 3))
        .as(CpuDeviceProperties::pool);
  }

  private static PoolLayout pool(int pages, long seed, int groups) {
    Random random = new Random(seed);
    List<PageLayout> made = new ArrayList<>();
    long base = random.nextInt(3);
    for (int i = 0; i < groups; i++) {
      int layers = 1 + random.nextInt(5);
      int pageBytes = random.nextInt(8) == 0 ? (32 << 10) + random.nextInt(80 << 10) : 1 + random.nextInt(40);
      boolean layerMajor = random.nextBoolean();
      long inner = pageBytes + random.nextInt(2) * random.nextInt(3);
      long outer = inner * (layerMajor ? pages : layers) + random.nextInt(3);
      made.add(new PageLayout(
          base, layers, pages, pageBytes, layerMajor ? outer : inner, layerMajor ? inner : outer));
      base = made.getLast().poolBytes() + random.nextInt(3);
    }
    return new PoolLayout(made);
  }

  @Property(tries = 300)
  void saveAndRestore_moveExactlyTheNamedPages(@ForAll("layouts") PoolLayout layout, @ForAll long seed) {
    Random random = new Random(seed);
    byte[] source = new byte[(int) layout.poolBytes() + random.nextInt(3)];
    byte[] target = new byte[(int) layout.poolBytes()];
    random.nextBytes(source);
    random.nextBytes(target);
    byte[] expected = target.clone();
    int[] from = distinct(random, layout.pages());
    int[] to = Arrays.copyOf(distinct(random, layout.pages()), from.length);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment pool = arena.allocate(source.length).copyFrom(MemorySegment.ofArray(source));
      MemorySegment[] shards = new MemorySegment[from.length];
      for (int i = 0; i < shards.length; i++) {
        shards[i] = arena.allocate(layout.shardBytes() + random.nextInt(2));
      }
      Transfer save = device.save(device.pages(layout, pool), from, shards);
      save.awaitDrained();
      for (int i = 0; i < from.length; i++) {
        byte[] shard = naiveShard(layout, source, from[i]);
        assertThat(shards[i].asSlice(0, shard.length).mismatch(MemorySegment.ofArray(shard))).isEqualTo(-1);
        CRC32C crc = new CRC32C();
        crc.update(shard);
        assertThat(save.checksum(i)).isEqualTo((int) crc.getValue());
        naiveScatter(layout, shard, expected, to[i]);
      }
      MemorySegment heapPool = MemorySegment.ofArray(target);
      Transfer restore = device.restore(device.pages(layout, heapPool), to, shards);
      restore.awaitDrained();
      assertThat(target).isEqualTo(expected);
      assertThat(restore.enqueued() && restore.drained() && restore.failure().isEmpty()).isTrue();
      for (int layer = 0; layer < layout.layers(); layer++) {
        assertThat(restore.layerReady(layer)).isTrue();
      }
      assertThatThrownBy(() -> restore.checksum(0)).isInstanceOf(IllegalStateException.class);
    }
  }

  private static byte[] naiveShard(PoolLayout layout, byte[] pool, int page) {
    ByteArrayOutputStream shard = new ByteArrayOutputStream();
    for (PageLayout group : layout.groups()) {
      for (int layer = 0; layer < group.layers(); layer++) {
        for (int i = 0; i < group.pageBytes(); i++) {
          shard.write(pool[(int) (group.base() + layer * group.layerStride() + page * group.pageStride()) + i]);
        }
      }
    }
    return shard.toByteArray();
  }

  private static void naiveScatter(PoolLayout layout, byte[] shard, byte[] pool, int page) {
    int at = 0;
    for (PageLayout group : layout.groups()) {
      for (int layer = 0; layer < group.layers(); layer++) {
        for (int i = 0; i < group.pageBytes(); i++) {
          pool[(int) (group.base() + layer * group.layerStride() + page * group.pageStride()) + i] = shard[at++];
        }
      }
    }
  }

  private static int[] distinct(Random random, int pages) {
    return random.ints(0, pages).distinct().limit(pages).toArray();
  }

  @Example
  void aLayerOfEveryBlock_isThereBeforeTheNext() {
    PageLayout large = new PageLayout(4, 64, 64 << 10, 64 << 10, 256 << 10);
    try (Device one = open(Map.of("threads", "1")); Arena arena = Arena.ofShared()) {
      MemorySegment pool = arena.allocate(large.poolBytes());
      int[] ids = IntStream.range(0, 64).toArray();
      MemorySegment[] shards = new MemorySegment[64];
      for (int i = 0; i < shards.length; i++) {
        shards[i] = arena.allocate(large.shardBytes()).fill((byte) 7);
      }
      Transfer restore = one.restore(one.pages(large, pool), ids, shards);
      for (int layer = 0; layer < 4; layer++) {
        while (!restore.layerReady(layer)) {
          Thread.onSpinWait();
        }
        for (int page = 0; page < 64; page++) {
          long last = large.offset(layer, page) + large.pageBytes() - 1;
          assertThat(pool.get(ValueLayout.JAVA_BYTE, last)).isEqualTo((byte) 7);
          for (int earlier = 0; earlier < layer; earlier++) {
            assertThat(restore.layerReady(earlier)).isTrue();
          }
        }
      }
    }
  }

  @Example
  void closing_waitsForWhatIsUnderWay() {
    PageLayout layout = new PageLayout(1, 64, 1 << 20, 64 << 20, 1 << 20);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment pool = arena.allocate(layout.poolBytes());
      MemorySegment shard = arena.allocate(layout.shardBytes()).fill((byte) 9);
      MemorySegment[] shards = new MemorySegment[64];
      Arrays.fill(shards, shard);
      Device closing = open(Map.of("threads", "1"));
      Transfer restore = closing.restore(closing.pages(layout, pool), IntStream.range(0, 64).toArray(), shards);
      closing.close();
      assertThat(restore.drained()).isTrue();
      assertThat(pool.get(ValueLayout.JAVA_BYTE, layout.poolBytes() - 1)).isEqualTo((byte) 9);
    }
  }

  @Example
  void aPoolThatVanishes_failsItsTransfersAndNoOther() {
    PageLayout layout = new PageLayout(1, 1, 8, 8, 8);
    MemorySegment[] shards = {MemorySegment.ofArray(new byte[8])};
    Arena arena = Arena.ofShared();
    EnginePages pages = device.pages(layout, arena.allocate(8));
    arena.close();
    Transfer save = device.save(pages, new int[1], shards);
    save.awaitDrained();
    assertThat(save.failure()).isPresent();
    assertThat(save.layerReady(0)).isFalse();
    assertThatThrownBy(() -> save.checksum(0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("failed");
    Transfer restore = device.restore(pages, new int[1], shards);
    restore.awaitDrained();
    assertThat(restore.failure()).isPresent();
    assertThat(restore.layerReady(0)).isFalse();
    Transfer other = device.save(device.pages(layout, MemorySegment.ofArray(new byte[8])), new int[1], shards);
    other.awaitDrained();
    assertThat(other.failure()).isEmpty();
  }

  @Example
  void transfersBeyondTheBound_areRefused() {
    HostPages pages = new HostPages(PoolLayout.of(new PageLayout(1, 1, 8, 8, 8)), MemorySegment.ofArray(new byte[8]));
    MemorySegment[] shards = {MemorySegment.ofArray(new byte[8])};
    // Without threads nothing leaves the queue.
    try (CopyQueue queue = new CopyQueue(0)) {
      for (int i = 0; i < CopyQueue.MAX_TRANSFERS; i++) {
        queue.add(SaveTransfer.of(pages, new int[1], shards));
      }
      assertThatThrownBy(() -> queue.add(RestoreTransfer.of(pages, new int[1], shards)))
          .isInstanceOf(UnavailableException.class).hasMessageContaining("4096 transfers waiting");
    }
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
    assertThatThrownBy(() -> device.restore(pages, new int[0], new MemorySegment[0]))
        .isInstanceOf(ClosedException.class);
    assertThatThrownBy(() -> device.pages(pages.layout(), MemorySegment.ofArray(new byte[8])))
        .isInstanceOf(ClosedException.class);
  }

  @Example
  void otherOrdinalsAndSettings_areRefused() {
    CpuBackend backend = new CpuBackend();
    assertThatThrownBy(() -> backend.open(new DeviceOptions(1, Map.of())))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("ordinal 1");
    assertRefused(() -> backend.open(new DeviceOptions(0, Map.of("colour", "red"))), "[colour]");
    assertRefused(() -> open(Map.of("threads", "0")), "'0', expected 1 to 64");
    assertRefused(() -> open(Map.of("threads", "two")), "'two', expected 1 to 64");
  }

  private static void assertRefused(ThrowingCallable call, String message) {
    assertThatThrownBy(call).isInstanceOf(RefusedException.class).hasMessageContaining(message);
  }
}
