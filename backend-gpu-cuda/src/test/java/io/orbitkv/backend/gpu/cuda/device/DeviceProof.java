package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import io.orbitkv.backend.gpu.cuda.driver.CopyList;
import io.orbitkv.backend.gpu.cuda.driver.Driver;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;

/**
 * What only a GPU can show: bytes, order and speed of copies to and from another process's memory. Started by {@code
 * src/test/device/prove}; its arguments are {@code check | table | killed | orphaned | copying}, the folder of {@code
 * engine.py}, a folder in shared memory for files, and the file for the table, or what to copy.
 */
final class DeviceProof {

  private static final long MIB = 1 << 20;
  private static final int SENTINEL = 0xEE;

  private final Path scripts;
  private final Path scratch;
  private int checks;

  private DeviceProof(Path scripts, Path scratch) {
    this.scripts = scripts;
    this.scratch = scratch;
  }

  /** See the class. */
  public static void main(String[] args) throws IOException, InterruptedException {
    Locale.setDefault(Locale.ROOT);
    DeviceProof proof = new DeviceProof(Path.of(args[1]), Path.of(args[2]));
    switch (args[0]) {
      case "check" -> proof.check();
      case "table" -> Files.writeString(Path.of(args[3]), proof.table());
      case "copying" -> proof.copying(args[3]);
      case "killed" -> proof.killedEngine();
      case "orphaned" -> proof.orphanedEvent();
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private EngineProcess engine() {
    return new EngineProcess(scripts.resolve("engine.py"));
  }

  private static CudaDevice device(Map<String, String> settings) {
    return new CudaDevice(Driver.load(Driver.LIBRARY).open(0), Settings.of(settings), ProcessEnd.halting());
  }

  private MemorySegment shared(Arena arena, long bytes) throws IOException {
    Path file = scratch.resolve("arena");
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
        StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes, arena);
    } finally {
      Files.delete(file);
    }
  }

  private static HostRegion pinned(CudaDevice device, MemorySegment host) {
    HostRegion region = device.hostMemory(host);
    ((PinnedMemory) region).awaitPinned();
    return region;
  }

  private void require(boolean holds, String what) {
    checks++;
    if (!holds) {
      throw new IllegalStateException("FAILED: " + what);
    }
  }

  // ---- bytes and order

  private void check() throws IOException {
    for (String mode : List.of("direct", "kernel")) {
      for (int seed = 1; seed <= 4; seed++) {
        bytes(mode, seed);
      }
    }
    fences();
    overlapping();
    System.out.println("checks passed: " + checks);
  }

  /** Saves and loads random pages of a random layout; compares the whole pool, and the arena around each shard. */
  private void bytes(String mode, int seed) throws IOException {
    Random random = new Random(seed);
    PoolLayout layout = layout(random, seed);
    Map<String, String> settings = Map.of("loads", mode, "saves", mode, "bands", String.valueOf(1 + seed % 3),
        "pin-chunk", "4MiB");
    try (EngineProcess engine = engine(); Arena arena = Arena.ofShared(); CudaDevice device = device(settings)) {
      int parts = layout.groups().size() == 1 ? 1 : 2;
      long bytes = parts == 1 ? layout.poolBytes() + 4096 : 2 * layout.groups().getLast().base();
      byte[] pool = new byte[(int) bytes];
      random.nextBytes(pool);
      String memory = engine.ask("alloc " + bytes + " " + parts);
      Path file = Files.write(scratch.resolve("pool"), pool);
      engine.ask("write " + file);
      MemorySegment host = shared(arena, 192 * MIB);
      host.fill((byte) SENTINEL);
      HostRegion region = pinned(device, host);
      try (EnginePages pages = device.open(memory, layout)) {
        int count = layout.pages() / 2;
        int[] from = shuffled(random, layout.pages(), count);
        int[] to = shuffled(random, layout.pages(), count);
        MemorySegment[] shards = new MemorySegment[count];
        byte[] expectedHost = host.toArray(ValueLayout.JAVA_BYTE);
        long at = random.nextInt(3) * 16L;
        for (int i = 0; i < count; i++) {
          shards[i] = host.asSlice(at, layout.shardBytes());
          at += layout.shardBytes() + 16L * random.nextInt(5);
        }
        Transfer save = device.save(pages, from, shards);
        save.awaitDrained();
        require(save.failure().isEmpty(), "a save fails: " + save.failure());
        byte[] expectedPool = pool.clone();
        for (int i = 0; i < count; i++) {
          byte[] shard = shard(layout, pool, from[i]);
          System.arraycopy(shard, 0, expectedHost, (int) (shards[i].address() - host.address()), shard.length);
          require(crc(shard) == save.checksum(i), mode + ": checksum of shard " + i);
          scatter(layout, shard, expectedPool, to[i]);
        }
        require(Arrays.equals(host.toArray(ValueLayout.JAVA_BYTE), expectedHost), mode + ": the arena after a save");
        Transfer load = device.restore(pages, to, shards);
        load.awaitDrained();
        require(load.failure().isEmpty(), "a load fails: " + load.failure());
        engine.ask("read " + file);
        byte[] seen = Files.readAllBytes(file);
        require(Arrays.equals(seen, expectedPool), mode + ": the pool after a load");
        corruption(device, engine, pages, layout, file, expectedPool, shards[0], from[0], random);
      }
      region.close();
    }
    System.out.println("bytes: " + mode + " " + layout.groups());
  }

  /** A wrong byte anywhere is found: in a page, and in a shard. */
  private void corruption(CudaDevice device, EngineProcess engine, EnginePages pages, PoolLayout layout, Path file,
      byte[] pool, MemorySegment shard, int page, Random random) throws IOException {
    long at = layout.groups().getLast().offset(layout.groups().getLast().layers() - 1, page);
    Transfer save = device.save(pages, new int[] {page}, new MemorySegment[] {shard});
    save.awaitDrained();
    int before = save.checksum(0);
    engine.ask("set " + at + " 1 " + (~pool[(int) at] & 0xFF));
    engine.ask("read " + file);
    require(!Arrays.equals(Files.readAllBytes(file), pool), "a wrong byte in a page is not found");
    save = device.save(pages, new int[] {page}, new MemorySegment[] {shard});
    save.awaitDrained();
    require(save.checksum(0) != before, "a wrong byte in a page does not change its checksum");
    long flipped = random.nextInt(layout.shardBytes());
    shard.set(ValueLayout.JAVA_BYTE, flipped, (byte) ~shard.get(ValueLayout.JAVA_BYTE, flipped));
    require(crc(shard.toArray(ValueLayout.JAVA_BYTE)) != save.checksum(0), "a wrong byte in a shard is not found");
  }

  private static PoolLayout layout(Random random, int seed) {
    int pages = 40 + random.nextInt(20);
    int unit = seed % 2 == 0 ? 16 : 1;
    List<PageLayout> groups = new ArrayList<>();
    long base = 0;
    for (int i = 0; i < (seed == 3 ? 2 : 1); i++) {
      int layers = 1 + random.nextInt(12);
      int bytes = unit * (1 + random.nextInt(16_000 / unit)) + (seed == 4 ? 256 << 10 : 0);
      boolean layerMajor = seed % 4 != 1;
      long inner = bytes + (long) unit * random.nextInt(3);
      long outer = inner * (layerMajor ? pages : layers) + (long) unit * random.nextInt(100);
      groups.add(new PageLayout(base, layers, pages, bytes, layerMajor ? outer : inner, layerMajor ? inner : outer));
      base = Math.ceilDiv(groups.getLast().poolBytes(), 32 * MIB) * 32 * MIB;
    }
    return seed == 3 ? new PoolLayout(splitAt(groups)) : new PoolLayout(groups);
  }

  /** Two groups of two allocations of equal size: the second begins where the second allocation does. */
  private static List<PageLayout> splitAt(List<PageLayout> groups) {
    PageLayout first = groups.getFirst();
    PageLayout second = groups.getLast();
    long half = Math.ceilDiv(Math.max(first.poolBytes(), second.poolBytes() - second.base()), MIB) * MIB;
    return List.of(first, new PageLayout(half, second.layers(), second.pages(), second.pageBytes(),
        second.layerStride(), second.pageStride()));
  }

  /** Copies wait for the event as it was recorded when they were asked for, and for no later record. */
  private void fences() throws IOException {
    PoolLayout layout = PoolLayout.of(new PageLayout(4, 16, 65536, 16 * 65536, 65536));
    for (String mode : List.of("direct", "kernel")) {
      try (EngineProcess engine = engine(); Arena arena = Arena.ofShared();
          CudaDevice device = device(Map.of("loads", mode, "saves", mode))) {
        String memory = engine.ask("alloc " + layout.poolBytes());
        MemorySegment host = shared(arena, 8 * MIB);
        HostRegion region = pinned(device, host);
        try (EnginePages pages = device.open(memory, layout)) {
          engine.ask("set 0 " + layout.poolBytes() + " 1");
          MemorySegment first = host.asSlice(0, layout.shardBytes());
          MemorySegment second = host.asSlice(MIB, layout.shardBytes());
          engine.ask("later 0 " + layout.poolBytes() + " 2");
          Transfer save = device.save(pages, new int[] {3}, new MemorySegment[] {first});
          host.asSlice(2 * MIB, layout.shardBytes()).fill((byte) 9);
          Transfer load = device.restore(pages, new int[] {5},
              new MemorySegment[] {host.asSlice(2 * MIB, layout.shardBytes())});
          long until = System.nanoTime() + 50_000_000;
          while (System.nanoTime() < until) {
            require(!save.drained() && !load.drained() && !load.layerReady(0), "a copy did not wait for the engine");
          }
          engine.ask("gate");
          save.awaitDrained();
          load.awaitDrained();
          require(all(first, 2), mode + ": a save before the engine's work");
          device.save(pages, new int[] {5}, new MemorySegment[] {second}).awaitDrained();
          require(all(second, 9), mode + ": a load before the engine's work");
          // A load does not wait for a later record, of work that is held back.
          engine.ask("record");
          Transfer free = device.restore(pages, new int[] {6}, new MemorySegment[] {second});
          engine.ask("later 0 " + layout.poolBytes() + " 3");
          free.awaitDrained();
          engine.ask("gate");
        }
        region.close();
      }
    }
    System.out.println("events: ok");
  }

  private static boolean all(MemorySegment bytes, int value) {
    return bytes.toArray(ValueLayout.JAVA_BYTE).length == IntStream.range(0, (int) bytes.byteSize())
        .filter(i -> bytes.get(ValueLayout.JAVA_BYTE, i) == value).count();
  }

  /** Loads and saves of many threads at once, of pages and shards of their own. */
  private void overlapping() throws IOException {
    PoolLayout layout = PoolLayout.of(new PageLayout(8, 512, 32768, 512L * 32768, 32768));
    try (EngineProcess engine = engine(); Arena arena = Arena.ofShared(); CudaDevice device = device(Map.of())) {
      String memory = engine.ask("alloc " + layout.poolBytes());
      MemorySegment host = shared(arena, 512L * layout.shardBytes());
      for (long i = 0; i < host.byteSize(); i += 8) {
        host.set(ValueLayout.JAVA_LONG, i, i * 0x9E3779B97F4A7C15L);
      }
      HostRegion region = pinned(device, host);
      try (EnginePages pages = device.open(memory, layout)) {
        int[] all = IntStream.range(0, 512).toArray();
        MemorySegment[] shards = new MemorySegment[512];
        Arrays.setAll(shards, i -> host.asSlice((long) i * layout.shardBytes(), layout.shardBytes()));
        device.restore(pages, all, shards).awaitDrained();
        byte[] expected = host.toArray(ValueLayout.JAVA_BYTE);
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 8; t++) {
          int first = t * 64;
          threads.add(Thread.ofPlatform().start(() -> {
            Random random = new Random(first);
            for (int round = 0; round < 60; round++) {
              int from = first + random.nextInt(32);
              int[] ids = Arrays.copyOfRange(all, from, from + 1 + random.nextInt(32));
              MemorySegment[] some = Arrays.copyOfRange(shards, ids[0], ids[0] + ids.length);
              Transfer save = device.save(pages, ids, some);
              save.awaitDrained();
              device.restore(pages, ids, some).awaitDrained();
            }
          }));
        }
        for (Thread thread : threads) {
          thread.join();
        }
        require(Arrays.equals(host.toArray(ValueLayout.JAVA_BYTE), expected), "loads and saves disturb one another");
        Path file = scratch.resolve("pool");
        engine.ask("read " + file);
        byte[] pool = Files.readAllBytes(file);
        for (int page = 0; page < 512; page++) {
          byte[] shard = shard(layout, pool, page);
          require(Arrays.equals(shard, Arrays.copyOfRange(expected, page * shard.length, (page + 1) * shard.length)),
              "page " + page + " after overlapping loads and saves");
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      region.close();
    }
    System.out.println("overlapping loads and saves: ok");
  }

  // ---- a killed engine

  /** The engine is killed while its pages are copied: the copies end, and its memory is free when they have. */
  private void killedEngine() throws IOException, InterruptedException {
    PoolLayout layout = PoolLayout.of(new PageLayout(32, 8192, 65536, 8192L * 65536, 65536));
    try (EngineProcess other = engine(); Arena arena = Arena.ofShared(); CudaDevice device = device(Map.of())) {
      MemorySegment host = shared(arena, 512L * layout.shardBytes());
      HostRegion region = pinned(device, host);
      MemorySegment[] shards = new MemorySegment[512];
      Arrays.setAll(shards, i -> host.asSlice((long) i * layout.shardBytes(), layout.shardBytes()));
      int[] ids = IntStream.range(0, 512).map(i -> i * 16).toArray();
      long before = Long.parseLong(other.ask("free"));
      EngineProcess engine = engine();
      EnginePages pages = device.open(engine.ask("alloc " + layout.poolBytes()), layout);
      long taken = before - Long.parseLong(other.ask("free"));
      Transfer load = device.restore(pages, ids, shards);
      Transfer save = device.save(pages, ids, shards);
      engine.kill();
      long killed = System.nanoTime();
      load.awaitDrained();
      save.awaitDrained();
      pages.close();
      long closed = System.nanoTime();
      while (before - Long.parseLong(other.ask("free")) > 16 * MIB) {
        require(System.nanoTime() - killed < 5_000_000_000L, "the killed engine's memory is not free after 5 s");
        Thread.sleep(1);
      }
      System.out.printf("killed engine: %.1f GiB taken; copies drained and pages closed %.0f ms after its end, its "
          + "memory free %.0f ms after its end; load failed: %s, save failed: %s%n", taken / 1024.0 / MIB,
          (closed - killed) / 1e6, (System.nanoTime() - killed) / 1e6, load.failure().isPresent(),
          save.failure().isPresent());
      region.close();
    }
  }

  /** The engine is killed before the work that copies wait for: this process says so and ends, or the copies end. */
  private void orphanedEvent() throws IOException, InterruptedException {
    PoolLayout layout = PoolLayout.of(new PageLayout(4, 16, 65536, 16 * 65536, 65536));
    try (EngineProcess engine = engine(); Arena arena = Arena.ofShared();
        CudaDevice device = device(Map.of("drain-seconds", "3"))) {
      MemorySegment host = shared(arena, 8 * MIB);
      HostRegion region = pinned(device, host);
      EnginePages pages = device.open(engine.ask("alloc " + layout.poolBytes()), layout);
      engine.ask("later 0 " + layout.poolBytes() + " 2");
      Transfer load = device.restore(pages, new int[] {5}, new MemorySegment[] {host.asSlice(0, layout.shardBytes())});
      engine.kill();
      long killed = System.nanoTime();
      load.awaitDrained();
      System.out.printf("orphaned event: the copies ended %.0f ms after the engine%n",
          (System.nanoTime() - killed) / 1e6);
      pages.close();
      region.close();
    }
  }

  // ---- speed

  private static final int ROUNDS = 7;
  private static final int IN_A_ROW = 8;
  private static final long POOL_BYTES = 96L << 30;
  private static final long BUFFERS_BYTES = 12L << 30;
  private static final long ARENA_BYTES = 2L << 30;

  private static final String HEADER =
      "| piece | blocks x pieces | way | out GB/s | of one copy | in GB/s | of one copy | both GB/s | of two copies |\n"
          + "|---:|---:|---|---:|---:|---:|---:|---:|---:|\n";

  private String table() throws IOException {
    StringBuilder table = new StringBuilder();
    try (EngineProcess engine = engine(); Arena arena = Arena.ofShared()) {
      String memory = engine.ask("alloc " + POOL_BYTES);
      MemorySegment host = shared(arena, ARENA_BYTES);
      touch(host);
      table.append(HEADER);
      List<String> ways = List.of(System.getProperty("orbitkv.proof.ways", "direct,kernel,auto").split(","));
      for (int[] shape : shapes("orbitkv.proof.shapes", "4x36,4x576,8x72,16x36,32x36,64x36,128x18,256x9,512x4,2048x1")) {
        rows(table, memory, host, layerMajor(shape[0] << 10, shape[1], POOL_BYTES), ways);
      }
      table.append("\nWith an allocation for each piece of a block:\n\n").append(HEADER);
      for (int[] shape : shapes("orbitkv.proof.buffers", "4x72,16x72,32x72,64x36,128x18")) {
        PoolLayout layout = layerMajor(shape[0] << 10, shape[1], BUFFERS_BYTES);
        try (EngineProcess buffers = engine()) {
          rows(table, buffers.ask("alloc " + layout.poolBytes() + " " + shape[1]), host, layout, ways);
        }
      }
      table.append("\n| load of | allocations | way | until enqueued us | until drained us | one copy us |\n"
          + "|---|---:|---|---:|---:|---:|\n");
      latencies(table, memory, host, layerMajor(64 << 10, 36, POOL_BYTES), 1, 512);
      PoolLayout layout = layerMajor(32 << 10, 72, BUFFERS_BYTES);
      try (EngineProcess buffers = engine()) {
        latencies(table, buffers.ask("alloc " + layout.poolBytes() + " 72"), host, layout, 72, 256);
      }
    }
    System.out.print(table);
    return table.toString();
  }

  /** Returns sizes of pieces in KiB, and how many a block has of them. */
  private static List<int[]> shapes(String property, String usual) {
    return Arrays.stream(System.getProperty(property, usual).split(","))
        .map(shape -> Arrays.stream(shape.split("x")).mapToInt(Integer::parseInt).toArray()).toList();
  }

  private static void touch(MemorySegment host) {
    IntStream.range(0, (int) (host.byteSize() / MIB)).parallel()
        .forEach(i -> host.asSlice(i * MIB, MIB).fill((byte) (i + 1)));
  }

  private static PoolLayout layerMajor(int piece, int layers, long poolBytes) {
    int pages = (int) Math.min(1 << 20, poolBytes / ((long) piece * layers));
    return PoolLayout.of(new PageLayout(layers, pages, piece, (long) pages * piece, piece));
  }

  /** Rates of one layout, by each way, beside one copy of the same bytes. */
  private void rows(StringBuilder table, String memory, MemorySegment host, PoolLayout layout, List<String> ways) {
    int blocks = (int) (128 * MIB / layout.shardBytes());
    long bytes = (long) blocks * layout.shardBytes();
    for (String way : ways) {
      try (CudaDevice device = device(settings(way))) {
        HostRegion region = pinned(device, host);
        double[] bare = bare(host, bytes);
        try (EnginePages pages = device.open(memory, layout)) {
          Random random = new Random(1);
          int[][] ids = new int[2][];
          MemorySegment[][] shards = new MemorySegment[2][];
          int[] extents = shuffled(random, (int) (ARENA_BYTES / roundUp(layout.shardBytes())), 2 * blocks);
          int[] all = shuffled(random, layout.pages(), 2 * blocks);
          for (int d = 0; d < 2; d++) {
            int first = d * blocks;
            ids[d] = Arrays.copyOfRange(all, first, first + blocks);
            shards[d] = IntStream.range(first, first + blocks)
                .mapToObj(i -> host.asSlice(extents[i] * roundUp(layout.shardBytes()), layout.shardBytes()))
                .toArray(MemorySegment[]::new);
          }
          double out = rate(bytes, n -> drain(n, () -> device.save(pages, ids[0], shards[0])));
          double in = rate(bytes, n -> drain(n, () -> device.restore(pages, ids[1], shards[1])));
          double both = rate(2 * bytes, n -> {
            Thread saving = Thread.ofPlatform().start(() -> drain(n, () -> device.save(pages, ids[0], shards[0])));
            drain(n, () -> device.restore(pages, ids[1], shards[1]));
            join(saving);
          });
          table.append(String.format("| %d KiB | %d x %d | %s | %.1f | %.0f %% | %.1f | %.0f %% | %.1f | %.0f %% |%n",
              layout.groups().getFirst().pageBytes() >> 10, blocks, layout.layers(), way, out, 100 * out / bare[0], in, 100 * in / bare[1], both,
              100 * both / bare[2]));
        }
        region.close();
      }
    }
  }

  /** Saves do not give way here, and are not held back: both directions are wanted at once. */
  private Map<String, String> settings(String way) {
    Map<String, String> settings = new HashMap<>(Map.of("loads", way, "saves", way, "yield-millis", "0",
        "save-rate", "none", "save-portion", "32MiB"));
    String more = System.getProperty("orbitkv.proof.settings", "");
    for (String setting : more.split(",")) {
      if (!setting.isEmpty()) {
        settings.put(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
      }
    }
    return settings;
  }

  private static long roundUp(int bytes) {
    return (bytes + 4095L) / 4096 * 4096;
  }

  /** Rates of one copy of so many bytes: out, in, and both at once. */
  private static double[] bare(MemorySegment host, long bytes) {
    Gpu gpu = Driver.load(Driver.LIBRARY).open(0);
    long memory = gpu.allocate(2 * bytes);
    long event = gpu.event();
    long out = gpu.stream(false);
    long in = gpu.stream(false);
    try (CopyList outwards = new CopyList(); CopyList inwards = new CopyList()) {
      // Within one pinned chunk each.
      outwards.add(memory, host.address(), (int) bytes, false);
      inwards.add(memory + bytes, host.address() + 1024 * MIB, (int) bytes, false);
      double[] rates = {
        rate(bytes, n -> {
          for (int i = 0; i < n; i++) {
            gpu.copy(out, outwards, false);
          }
          await(gpu, out, event);
        }),
        rate(bytes, n -> {
          for (int i = 0; i < n; i++) {
            gpu.copy(in, inwards, true);
          }
          await(gpu, in, event);
        }),
        rate(2 * bytes, n -> {
          for (int i = 0; i < n; i++) {
            gpu.copy(out, outwards, false);
            gpu.copy(in, inwards, true);
          }
          await(gpu, out, event);
          await(gpu, in, event);
        })
      };
      gpu.endStream(out);
      gpu.endStream(in);
      gpu.endEvent(event);
      gpu.free(memory);
      return rates;
    } finally {
      gpu.close();
    }
  }

  private static void await(Gpu gpu, long stream, long event) {
    gpu.record(event, stream);
    gpu.await(event, 10_000_000_000L);
  }

  /** Returns the median rate in GB/s of some transfers in a row. */
  private static double rate(long bytes, IntConsumer transfers) {
    transfers.accept(1);
    double[] rates = new double[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      long began = System.nanoTime();
      transfers.accept(IN_A_ROW);
      rates[i] = (double) bytes * IN_A_ROW / (System.nanoTime() - began);
    }
    Arrays.sort(rates);
    return rates[ROUNDS / 2];
  }

  private static void drain(int count, java.util.function.Supplier<Transfer> transfer) {
    List<Transfer> begun = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      begun.add(transfer.get());
    }
    for (Transfer one : begun) {
      one.awaitDrained();
      one.failure().ifPresent(cause -> {
        throw new IllegalStateException("a transfer failed", cause);
      });
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** What a load of few and of many blocks takes from the request to the drain, beside one copy of the same bytes. */
  private void latencies(StringBuilder table, String memory, MemorySegment host, PoolLayout layout, int allocations,
      int many) {
    for (String way : List.of("direct", "kernel")) {
      try (CudaDevice device = device(Map.of("loads", way))) {
        HostRegion region = pinned(device, host);
        try (EnginePages pages = device.open(memory, layout)) {
          for (int blocks : new int[] {1, many}) {
            int[] ids = shuffled(new Random(2), layout.pages(), blocks);
            MemorySegment[] shards = new MemorySegment[blocks];
            Arrays.setAll(shards, i -> host.asSlice((long) i * layout.shardBytes(), layout.shardBytes()));
            double[] enqueued = new double[41];
            double[] drained = new double[41];
            for (int i = 0; i < enqueued.length; i++) {
              long began = System.nanoTime();
              Transfer load = device.restore(pages, ids, shards);
              enqueued[i] = (System.nanoTime() - began) / 1e3;
              load.awaitDrained();
              drained[i] = (System.nanoTime() - began) / 1e3;
            }
            Arrays.sort(enqueued);
            Arrays.sort(drained);
            double bytes = (double) blocks * layout.shardBytes();
            double rate = bare(host, Math.min((long) bytes, 128 * MIB))[1];
            table.append(String.format("| %d block%s of %d pieces | %d | %s | %.0f | %.0f | %.0f |%n", blocks,
                blocks == 1 ? "" : "s", layout.layers(), allocations, way, enqueued[20], drained[20],
                bytes / rate / 1e3));
          }
        }
        region.close();
      }
    }
  }

  // ---- beside computation

  /** Copies blocks of 36 pieces of 64 KiB until standard input ends: {@code saves}, {@code loads} or {@code both}. */
  private void copying(String what) throws IOException {
    PoolLayout layout = PoolLayout.of(new PageLayout(36, 4096, 65536, 4096L * 65536, 65536));
    try (EngineProcess engine = engine(); Arena arena = Arena.ofShared()) {
      String memory = engine.ask("alloc " + layout.poolBytes());
      if (Boolean.getBoolean("orbitkv.proof.unfenced")) {
        memory = memory.replaceFirst(":[0-9a-f]{128}:", ":-:");
      }
      MemorySegment host = shared(arena, ARENA_BYTES);
      touch(host);
      String way = what.contains("kernel") ? "kernel" : "direct";
      try (CudaDevice device = device(settings(way))) {
        HostRegion region = pinned(device, host);
        try (EnginePages pages = device.open(memory, layout)) {
          int[] ids = shuffled(new Random(3), layout.pages(), 448);
          MemorySegment[] shards = new MemorySegment[448];
          Arrays.setAll(shards, i -> host.asSlice((long) i * layout.shardBytes(), layout.shardBytes()));
          long bytes = 0;
          long began = System.nanoTime();
          System.out.println("copying");
          while (System.in.available() == 0) {
            List<Transfer> begun = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
              if (!what.startsWith("loads")) {
                begun.add(device.save(pages, Arrays.copyOf(ids, 224), Arrays.copyOf(shards, 224)));
              }
              if (!what.startsWith("saves")) {
                begun.add(device.restore(pages, Arrays.copyOfRange(ids, 224, 448),
                    Arrays.copyOfRange(shards, 224, 448)));
              }
            }
            begun.forEach(Transfer::awaitDrained);
            bytes += 224L * layout.shardBytes() * begun.size();
          }
          System.out.printf("%s: %.1f GB/s meanwhile%n", what, (double) bytes / (System.nanoTime() - began));
        }
        region.close();
      }
    }
  }

  // ---- by hand

  private static int[] shuffled(Random random, int bound, int count) {
    return random.ints(0, bound).distinct().limit(count).toArray();
  }

  private static byte[] shard(PoolLayout layout, byte[] pool, int page) {
    byte[] shard = new byte[layout.shardBytes()];
    int at = 0;
    for (PageLayout group : layout.groups()) {
      for (int layer = 0; layer < group.layers(); layer++, at += group.pageBytes()) {
        System.arraycopy(pool, (int) group.offset(layer, page), shard, at, group.pageBytes());
      }
    }
    return shard;
  }

  private static void scatter(PoolLayout layout, byte[] shard, byte[] pool, int page) {
    int at = 0;
    for (PageLayout group : layout.groups()) {
      for (int layer = 0; layer < group.layers(); layer++, at += group.pageBytes()) {
        System.arraycopy(shard, at, pool, (int) group.offset(layer, page), group.pageBytes());
      }
    }
  }

  private static int crc(byte[] bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    return (int) crc.getValue();
  }
}
