package io.orbitkv.core.sim;

import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.core.machine.Invariants.Violation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Memory in which nothing stays what it was once it is given back. Each allocation has a number that is never used
 * again, so that whoever used memory past its end is found out.
 */
public final class SimPool implements MemoryPool {

  private record Extent(long bytes, long number) {}

  private final MemorySegment memory;
  private final int unit;
  private final TreeMap<Long, Extent> extents = new TreeMap<>();
  private long allocated;
  private long numbers;

  /**
   * @param bytes its capacity
   * @param unit the alignment of every allocation
   */
  public SimPool(long bytes, int unit) {
    this.memory = Arena.ofAuto().allocate(bytes, unit);
    this.unit = unit;
    memory.fill((byte) 0xdd);
  }

  @Override
  public long capacityBytes() {
    return memory.byteSize();
  }

  @Override
  public long readyBytes() {
    return memory.byteSize();
  }

  @Override
  public long allocate(long bytes) {
    long size = (bytes + unit - 1) / unit * unit;
    long at = 0;
    for (Map.Entry<Long, Extent> entry : extents.entrySet()) {
      if (entry.getKey() - at >= size) {
        break;
      }
      at = entry.getKey() + entry.getValue().bytes;
    }
    if (memory.byteSize() - at < size) {
      return NONE;
    }
    extents.put(at, new Extent(size, ++numbers));
    allocated += size;
    return at;
  }

  @Override
  public void free(long offset) {
    Extent extent = extents.remove(offset);
    if (extent == null) {
      throw new Violation("memory at " + offset + " is given back twice");
    }
    allocated -= extent.bytes;
    memory.asSlice(offset, extent.bytes).fill((byte) 0xdd);
  }

  /** Returns the number of the allocation that an address lies in. */
  public long numberAt(long address) {
    Map.Entry<Long, Extent> entry = extents.floorEntry(address);
    return entry == null || entry.getKey() + entry.getValue().bytes <= address ? 0 : entry.getValue().number;
  }

  /** Returns the number of the allocation that a view lies in. */
  long numberOf(MemorySegment view) {
    return numberAt(view.address() - memory.address());
  }

  /** Returns the offsets of all allocations. */
  public Set<Long> extents() {
    return extents.keySet();
  }

  @Override
  public long allocatedBytes() {
    return allocated;
  }

  @Override
  public long largestFreeBytes() {
    long largest = 0;
    long at = 0;
    for (Map.Entry<Long, Extent> entry : extents.entrySet()) {
      largest = Math.max(largest, entry.getKey() - at);
      at = entry.getKey() + entry.getValue().bytes;
    }
    return Math.max(largest, memory.byteSize() - at);
  }

  @Override
  public MemorySegment slice(long offset, long bytes) {
    return memory.asSlice(offset, bytes);
  }

  @Override
  public List<MemorySegment> regions() {
    return List.of(memory);
  }

  @Override
  public String describe() {
    return "simulated";
  }

  @Override
  public void close() {}
}
