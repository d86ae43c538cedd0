package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.gpu.cuda.driver.ExportedHandle;
import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import io.orbitkv.backend.gpu.cuda.driver.ImportedMemory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The allocations of an engine's pool, opened here. One may hold many parts of the pool, and is opened once. */
final class Imports implements AutoCloseable {

  private final Gpu gpu;
  private final Watch watch;
  private final Map<ExportedHandle, ImportedMemory> opened = new LinkedHashMap<>();

  private Imports(Gpu gpu, Watch watch) {
    this.gpu = gpu;
    this.watch = watch;
  }

  /**
   * Opens them, with later ones at higher addresses if that can be had: layers that lie equally far apart upwards are
   * rows of one copy, and the driver takes addresses in the order in which it is asked, some downwards.
   *
   * @throws UnavailableException if the driver refuses one; then none is open
   */
  static Imports open(Gpu gpu, Watch watch, List<ExportedPool.Part> parts) {
    List<ExportedHandle> handles = parts.stream().map(ExportedPool.Part::handle).distinct().toList();
    Imports inOrder = openAll(gpu, watch, handles);
    if (!inOrder.descend(handles)) {
      return inOrder;
    }
    inOrder.close();
    return openAll(gpu, watch, handles.reversed());
  }

  private static Imports openAll(Gpu gpu, Watch watch, List<ExportedHandle> handles) {
    Imports imports = new Imports(gpu, watch);
    try {
      handles.forEach(handle -> imports.opened.put(handle, gpu.openMemory(handle)));
      return imports;
    } catch (UnavailableException e) {
      imports.close();
      throw e;
    }
  }

  private boolean descend(List<ExportedHandle> handles) {
    int below = 0;
    for (int i = 1; i < handles.size(); i++) {
      below += of(handles.get(i)).address() < of(handles.get(i - 1)).address() ? 1 : -1;
    }
    return below > 0;
  }

  /** Returns where an allocation is. */
  ImportedMemory of(ExportedHandle handle) {
    return opened.get(handle);
  }

  /** Gives them up. An engine's memory that may still be held is never said to be free. */
  @Override
  public void close() {
    try {
      opened.values().forEach(gpu::closeMemory);
    } catch (UnavailableException e) {
      throw watch.unknown("the engine's memory could not be given up: " + e.getMessage());
    }
    opened.clear();
  }
}
