package io.orbitkv.backend.gpu.cuda.device;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import io.orbitkv.backend.gpu.cuda.driver.KernelLaunch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** An engine's pages on the GPU, and what has to be copied of each block. */
final class GpuPages implements EnginePages {

  private static final int ALIGNMENT = 16;

  /**
   * Pieces of so many bytes or more are copied in batches, smaller ones that lie equally far apart as one strided copy: a
   * piece of a batch takes the thread that asks as long as a strided copy for all of a block. Measured on an H200, GB/s of
   * strided copies and of batches: 32 KiB, in 47 and 54, out 47 and 52; 64 KiB, 51 and 54, 51 and 53; 16 KiB, 37 and 30.
   */
  private static final int BATCHED_FROM = 32 << 10;

  /**
   * Stripes of equal size that one launch copies.
   *
   * @param address where the first is described in the GPU's memory
   * @param count how many
   * @param bytes of each
   * @param aligned whether all that they address is a multiple of 16
   */
  record Stripes(long address, int count, int bytes, boolean aligned) {}

  private final Gpu gpu;
  private final PoolLayout layout;
  private final int shardBytes;
  private final List<Band> loadBands;
  private final List<Band> saveBands;
  private final List<List<Stripes>> stripes;
  private final long stripeTable;
  private final Optional<Fence> loadFence;
  private final Optional<Fence> saveFence;
  private final Optional<Gates> gates;
  private final Owner owner;
  private final Runnable giveUp;
  private volatile CopyMode loads;
  private boolean closed;

  /**
   * @param addresses where the pool is
   * @param fence an event that copies wait for
   * @param gates what each band of a load raises, if anything
   * @param owner whose pool it is
   * @param giveUp run when it is closed
   */
  GpuPages(Gpu gpu, Watch watch, Settings settings, PoolLayout layout, PoolAddresses addresses, OptionalLong fence,
      Optional<Gates> gates, Owner owner, Runnable giveUp) {
    this.gpu = gpu;
    this.layout = layout;
    this.shardBytes = layout.shardBytes();
    this.gates = gates;
    int batchedFrom = gpu.facts().batches() ? BATCHED_FROM : Integer.MAX_VALUE;
    this.loadBands = Band.of(layout, addresses, gates.map(Gates::count).orElse(settings.bands()), batchedFrom);
    this.saveBands = Band.of(layout, addresses, 1, batchedFrom);
    this.loadFence = fence.isPresent() ? Optional.of(new Fence(watch, fence.getAsLong())) : Optional.empty();
    this.saveFence = fence.isPresent() ? Optional.of(new Fence(watch, fence.getAsLong())) : Optional.empty();
    this.owner = owner;
    this.giveUp = giveUp;
    this.loads = CopyMode.DIRECT;
    int rows = loadBands.stream().flatMap(band -> band.runs().stream()).mapToInt(Run::rows).sum();
    this.stripeTable = gpu.allocate((long) rows * KernelLaunch.STRIPE_BYTES);
    this.stripes = describeStripes(watch, rows);
  }

  /** Writes a row for each stripe into the GPU's memory, and notes which can be launched together. */
  private List<List<Stripes>> describeStripes(Watch watch, int rows) {
    List<List<Stripes>> all = new ArrayList<>();
    MemorySegment table = gpu.allocateHost((long) rows * KernelLaunch.STRIPE_BYTES);
    try {
      int row = 0;
      for (Band band : loadBands) {
        List<Stripes> launches = new ArrayList<>();
        for (Run run : band.runs()) {
          boolean aligned =
              (run.address() | run.pageStride() | run.pitch() | run.rowBytes() | run.shardAt() | run.shardPitch())
                  % ALIGNMENT == 0;
          Stripes added =
              new Stripes(stripeTable + (long) row * KernelLaunch.STRIPE_BYTES, run.rows(), run.rowBytes(), aligned);
          for (int i = 0; i < run.rows(); i++, row++) {
            table.setAtIndex(JAVA_LONG, 3L * row, run.address() + i * run.pitch());
            table.setAtIndex(JAVA_LONG, 3L * row + 1, run.pageStride());
            table.setAtIndex(JAVA_LONG, 3L * row + 2, run.shardAt() + i * run.shardPitch());
          }
          Stripes last = launches.isEmpty() ? null : launches.getLast();
          if (last != null && last.bytes() == added.bytes() && last.aligned() == aligned) {
            launches.removeLast();
            added = new Stripes(last.address(), last.count() + added.count(), last.bytes(), aligned);
          }
          launches.add(added);
        }
        all.add(List.copyOf(launches));
      }
      try (CopyStream stream = new CopyStream(gpu, true); EventPool events = new EventPool(gpu)) {
        stream.bring(stripeTable, table.address(), (int) table.byteSize());
        long event = events.take();
        stream.record(event);
        watch.await(event, Owner.unknown());
        events.give(event);
      }
    } finally {
      gpu.freeHost(table);
    }
    return List.copyOf(all);
  }

  @Override
  public PoolLayout layout() {
    return layout;
  }

  int shardBytes() {
    return shardBytes;
  }

  /** Returns what is loaded of each block, in the order in which it is. */
  List<Band> loadBands() {
    return loadBands;
  }

  /** Returns what is saved of each block. */
  List<Band> saveBands() {
    return saveBands;
  }

  /** Returns how many copies a page that is loaded takes, if no memory is pinned in several parts. */
  int copiesOfAPage() {
    return loadBands.stream().mapToInt(band -> band.runs().size()).sum();
  }

  /** Returns the launches of a band of loads; all of them are those of a save. */
  List<Stripes> stripes(int band) {
    return stripes.get(band);
  }

  int bandOf(int layer) {
    return Band.bandOf(layer, layout.layers(), loadBands.size());
  }

  Optional<Fence> loadFence() {
    return loadFence;
  }

  Optional<Fence> saveFence() {
    return saveFence;
  }

  Optional<Gates> gates() {
    return gates;
  }

  Owner owner() {
    return owner;
  }

  CopyMode loads() {
    return loads;
  }

  /** States how loads are to be copied, before the first. */
  void loads(CopyMode mode) {
    loads = mode;
  }

  synchronized void requireOpen() {
    if (closed) {
      throw new ClosedException("engine pages were closed before this transfer");
    }
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      gpu.free(stripeTable);
      giveUp.run();
    }
  }
}
