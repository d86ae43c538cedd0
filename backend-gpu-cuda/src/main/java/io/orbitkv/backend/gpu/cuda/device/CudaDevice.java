package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import io.orbitkv.backend.gpu.cuda.driver.ExportedHandle;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import io.orbitkv.backend.gpu.cuda.driver.ImportedMemory;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;

/** One GPU. Everything about a transfer is checked on the caller's thread, before the first byte moves. */
final class CudaDevice implements Device {

  private static final Logger LOG = System.getLogger(CudaDevice.class.getName());

  private final Gpu gpu;
  private final Settings settings;
  private final Watch watch;
  private final EventPool events;
  private final CopyKernel kernel;
  private final LoadsUnderWay loadsUnderWay = new LoadsUnderWay();
  private final LoadLane loads;
  private final SaveLane saves;
  private final List<PinnedMemory> pinned = new CopyOnWriteArrayList<>();
  private volatile boolean closed;

  CudaDevice(Gpu gpu, Settings settings, ProcessEnd end) {
    this.gpu = gpu;
    this.settings = settings;
    this.watch = new Watch(gpu, end, settings.drainLimit());
    this.events = new EventPool(gpu);
    this.kernel = CopyKernel.load(gpu, settings.kernelBlocks());
    this.loads = new LoadLane(new CopyLane(gpu, kernel, watch, true), events, watch, loadsUnderWay);
    this.saves = new SaveLane(new CopyLane(gpu, kernel, watch, false), events, watch, loadsUnderWay, settings);
    LOG.log(Level.INFO, gpu.facts() + "; loads " + settings.loads() + ", saves " + settings.saves());
    if (settings.saves() == CopyMode.KERNEL) {
      LOG.log(Level.WARNING, "saves are copied by a kernel, which keeps the engine from computing meanwhile");
    }
  }

  @Override
  public EnginePages pages(PoolLayout layout, MemorySegment pool) {
    throw new RefusedException("pages of device cuda are on a GPU, and this pool is in host memory; use device cpu");
  }

  @Override
  public EnginePages open(String memory, PoolLayout layout) {
    requireOpen();
    ExportedPool pool = ExportedPool.parse(memory);
    requireThisGpu(pool.uuid());
    Map<ExportedHandle, ImportedMemory> imported = new LinkedHashMap<>();
    OptionalLong fence = OptionalLong.empty();
    Optional<Gates> gates = Optional.empty();
    try {
      PoolAddresses addresses = addresses(pool, imported);
      if (addresses.bytes() < layout.poolBytes()) {
        throw new RefusedException("the engine's memory has " + addresses.bytes() + " bytes, expected at least "
            + layout.poolBytes() + " for the stated layout");
      }
      if (pool.fence().isPresent()) {
        fence = OptionalLong.of(gpu.openEvent(pool.fence().get()));
      }
      gates = pool.gates().map(stated -> Gates.open(gpu, stated, layout.layers()));
      OptionalLong event = fence;
      Optional<Gates> raised = gates;
      GpuPages pages = new GpuPages(gpu, watch, settings, layout, addresses, event, raised, Owner.of(pool.pid()),
          () -> giveUp(imported, event, raised));
      LOG.log(Level.INFO, "the engine's pages: " + layout.shardBytes() + " bytes in " + layout.layers()
          + " layers, each loaded in " + pages.copiesOfAPage() + " copies");
      CopyMode mode = settings.loads();
      pages.loads(mode == CopyMode.AUTO ? new Calibration(gpu, kernel, watch).choose(pages) : mode);
      return pages;
    } catch (RefusedException | UnavailableException e) {
      giveUp(imported, fence, gates);
      throw e;
    }
  }

  private void requireThisGpu(String uuid) {
    if (uuid.equals(gpu.facts().uuid())) {
      return;
    }
    for (int i = 0; i < gpu.driver().count(); i++) {
      if (gpu.driver().facts(i).uuid().equals(uuid)) {
        throw new RefusedException("the engine's memory is on GPU " + i + " (" + uuid + ") and this device is GPU "
            + gpu.facts().uuid() + "; open ordinal " + i);
      }
    }
    throw new RefusedException("the engine's memory is on GPU " + uuid + ", which this process does not see; this device "
        + "is GPU " + gpu.facts().uuid() + "; give both the same CUDA_VISIBLE_DEVICES");
  }

  private PoolAddresses addresses(ExportedPool pool, Map<ExportedHandle, ImportedMemory> imported) {
    List<PoolAddresses.Range> ranges = new ArrayList<>();
    long start = 0;
    for (ExportedPool.Part part : pool.parts()) {
      // One allocation may hold many parts, and is opened once.
      ImportedMemory memory = imported.computeIfAbsent(part.handle(), gpu::openMemory);
      if (part.bytes() > memory.bytes() || part.base() > memory.bytes() - part.bytes()) {
        throw new RefusedException("bytes " + part.base() + " to " + (part.base() + part.bytes())
            + " are not all in the engine's allocation of " + memory.bytes());
      }
      ranges.add(new PoolAddresses.Range(start, part.bytes(), memory.address() + part.base(), part.handle()));
      start += part.bytes();
    }
    return new PoolAddresses(ranges);
  }

  private void giveUp(Map<ExportedHandle, ImportedMemory> imported, OptionalLong fence, Optional<Gates> gates) {
    try {
      gates.ifPresent(Gates::close);
      fence.ifPresent(gpu::endEvent);
      imported.values().forEach(gpu::closeMemory);
    } catch (UnavailableException e) {
      throw watch.unknown("the engine's memory could not be given up: " + e.getMessage());
    }
  }

  @Override
  public HostRegion hostMemory(MemorySegment memory) {
    requireOpen();
    PinnedMemory made = new PinnedMemory(gpu, memory, settings.pinChunk(), loadsUnderWay, pinned::remove);
    pinned.add(made);
    return made;
  }

  @Override
  public Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    GpuPages own = own(pages);
    BlockCopies blocks = BlockCopies.check(own, pageIds, shards, false, pinned);
    SaveTransfer save = new SaveTransfer(own, blocks, shards);
    saves.add(save);
    return save;
  }

  @Override
  public Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    return restore(pages, pageIds, shards, 0);
  }

  @Override
  public Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards, int mark) {
    GpuPages own = own(pages);
    return loads.begin(own, BlockCopies.check(own, pageIds, shards, true, pinned), own.loads(), mark);
  }

  private GpuPages own(EnginePages pages) {
    requireOpen();
    if (!(pages instanceof GpuPages own)) {
      throw new RefusedException("engine pages are " + pages.getClass().getName() + ", expected pages of this device");
    }
    own.requireOpen();
    return own;
  }

  private void requireOpen() {
    if (closed) {
      throw new ClosedException("device cuda was closed");
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    loads.close();
    saves.close();
    pinned.forEach(PinnedMemory::close);
    events.close();
    gpu.close();
  }
}
