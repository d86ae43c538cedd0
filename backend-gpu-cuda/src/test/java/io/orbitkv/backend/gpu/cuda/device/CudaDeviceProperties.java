package io.orbitkv.backend.gpu.cuda.device;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.HostRegion;
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
import java.util.zip.CRC32C;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Every byte of every layout goes where it belongs, by each way there is, and nothing else changes. */
class CudaDeviceProperties {

  private static final int CHUNK = 1 << 20;
  private static final int HOST_BYTES = 16 << 20;

  /** Layouts of one to three groups, some with strides beyond what the driver takes as a pitch. */
  @Provide
  Arbitrary<PoolLayout> layouts() {
    return Combinators.combine(
            Arbitraries.integers().between(1, 6), Arbitraries.longs(), Arbitraries.integers().between(1, 3))
        .as(CudaDeviceProperties::pool);
  }

  private static PoolLayout pool(int pages, long seed, int groups) {
    Random random = new Random(seed);
    return random.nextInt(3) == 0 ? keysAndValues(pages, random) : groups(pages, random, groups);
  }

  /** A buffer for the keys of each layer and one for its values, mostly equally far apart. */
  private static PoolLayout keysAndValues(int pages, Random random) {
    int layers = 1 + random.nextInt(6);
    int unit = random.nextBoolean() ? 16 : 1;
    int pageBytes = unit * (1 + random.nextInt(300));
    long apart = (long) pageBytes * pages + random.nextInt(3) * unit + (random.nextInt(6) == 0 ? 2 << 20 : 0);
    int odd = random.nextInt(4 * layers);
    List<PageLayout> made = new ArrayList<>();
    for (int i = 0; i < 2 * layers; i++) {
      int place = i / 2 + i % 2 * layers;
      long base = place * apart + (place > odd ? 16 : 0);
      made.add(new PageLayout(base, 1, pages, pageBytes, apart, pageBytes));
    }
    return new PoolLayout(made);
  }

  private static PoolLayout groups(int pages, Random random, int groups) {
    List<PageLayout> made = new ArrayList<>();
    long base = random.nextInt(3) * 16L;
    int unit = random.nextBoolean() ? 16 : 1;
    for (int i = 0; i < groups; i++) {
      int layers = 1 + random.nextInt(5);
      int pageBytes = unit * (random.nextInt(8) == 0 ? 3000 + random.nextInt(20_000) : 1 + random.nextInt(40));
      boolean layerMajor = random.nextBoolean();
      long inner = pageBytes + random.nextInt(2) * random.nextInt(3) * unit;
      long outer = inner * (layerMajor ? pages : layers) + random.nextInt(3) * unit;
      if (layerMajor && random.nextInt(6) == 0) {
        outer = 2 * (outer + (1 << 20));
      }
      made.add(new PageLayout(
          base, layers, pages, pageBytes, layerMajor ? outer : inner, layerMajor ? inner : outer));
      base = made.getLast().poolBytes() + random.nextInt(3) * unit;
    }
    return new PoolLayout(made);
  }

  @Provide
  Arbitrary<Map<String, String>> settings() {
    return Combinators.combine(Arbitraries.of("direct", "kernel"), Arbitraries.of("direct", "kernel"),
            Arbitraries.of("1", "2", "3", "512"))
        .as((loads, saves, bands) -> Map.of("loads", loads, "saves", saves, "bands", bands, "pin-chunk", "1MiB",
            "driver", FakeDriver.LIBRARY));
  }

  @Property(tries = 80)
  void saveAndRestore_moveExactlyTheNamedPages(@ForAll("layouts") PoolLayout layout,
      @ForAll("settings") Map<String, String> settings, @ForAll long seed) {
    Random random = new Random(seed);
    byte[] source = new byte[(int) layout.poolBytes() + random.nextInt(3)];
    byte[] target = new byte[(int) layout.poolBytes()];
    random.nextBytes(source);
    random.nextBytes(target);
    byte[] expected = target.clone();
    int[] from = distinct(random, layout.pages());
    int[] to = Arrays.copyOf(distinct(random, layout.pages()), from.length);
    try (FakeDriver driver = new FakeDriver()) {
      long before = driver.live();
      try (Arena arena = Arena.ofShared();
          Device device = new CudaBackend().open(new DeviceOptions(0, settings))) {
        MemorySegment host = arena.allocate(HOST_BYTES, 4096);
        HostRegion region = pinned(device, host);
        MemorySegment[] shards = shards(random, host, layout.shardBytes(), from.length);
        byte[] untouched = host.toArray(ValueLayout.JAVA_BYTE);
        MemorySegment pool = arena.allocate(source.length, 16).copyFrom(MemorySegment.ofArray(source));
        try (EnginePages pages = device.open(driver.export(false, pool), layout)) {
          Transfer save = device.save(pages, from, shards);
          save.awaitDrained();
          assertThat(save.failure()).isEmpty();
          for (int i = 0; i < from.length; i++) {
            byte[] shard = naiveShard(layout, source, from[i]);
            System.arraycopy(shard, 0, untouched, (int) (shards[i].address() - host.address()), shard.length);
            CRC32C crc = new CRC32C();
            crc.update(shard);
            assertThat(save.checksum(i)).isEqualTo((int) crc.getValue());
            naiveScatter(layout, shard, expected, to[i]);
          }
        }
        assertThat(host.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(untouched);
        MemorySegment other = arena.allocate(target.length, 16).copyFrom(MemorySegment.ofArray(target));
        try (EnginePages pages = device.open(driver.export(false, other), layout)) {
          Transfer restore = device.restore(pages, to, shards);
          restore.awaitDrained();
          assertThat(restore.failure()).isEmpty();
          assertThat(restore.layerReady(layout.layers() - 1)).isTrue();
        }
        assertThat(other.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
        region.close();
      }
      assertThat(driver.live()).as("streams, events and memory left").isEqualTo(before);
    }
  }

  private static HostRegion pinned(Device device, MemorySegment host) {
    HostRegion region = device.hostMemory(host);
    ((PinnedMemory) region).awaitPinned();
    return region;
  }

  /** Room for shards one behind another, some of them over the edge of a chunk. */
  private static MemorySegment[] shards(Random random, MemorySegment host, int bytes, int count) {
    MemorySegment[] shards = new MemorySegment[count];
    long at = Math.max(0, CHUNK - (long) count * bytes + random.nextInt(bytes + 1));
    at = random.nextBoolean() ? at / 16 * 16 : at;
    for (int i = 0; i < count; i++) {
      shards[i] = host.asSlice(at, bytes);
      at += bytes + random.nextInt(2) * 32L;
    }
    return shards;
  }

  private static byte[] naiveShard(PoolLayout layout, byte[] pool, int page) {
    ByteArrayOutputStream shard = new ByteArrayOutputStream();
    for (PageLayout group : layout.groups()) {
      for (int layer = 0; layer < group.layers(); layer++) {
        shard.write(pool, (int) group.offset(layer, page), group.pageBytes());
      }
    }
    return shard.toByteArray();
  }

  private static void naiveScatter(PoolLayout layout, byte[] shard, byte[] pool, int page) {
    int at = 0;
    for (PageLayout group : layout.groups()) {
      for (int layer = 0; layer < group.layers(); layer++, at += group.pageBytes()) {
        System.arraycopy(shard, at, pool, (int) group.offset(layer, page), group.pageBytes());
      }
    }
  }

  private static int[] distinct(Random random, int pages) {
    return random.ints(0, pages).distinct().limit(pages).toArray();
  }
}
