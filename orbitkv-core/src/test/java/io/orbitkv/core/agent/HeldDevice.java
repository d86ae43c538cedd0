package io.orbitkv.core.agent;

import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import io.orbitkv.core.Backends;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/** The CPU device, whose copies can be held back: they are under way until the test lets them go, or has them fail. */
final class HeldDevice implements Device {

  private final Device cpu = Backends.installed().device("cpu").open(new DeviceOptions(0, Map.of()));
  private CountDownLatch gate = new CountDownLatch(0);
  private volatile boolean failing;

  /** Holds every copy that begins from now on. */
  synchronized void hold() {
    gate = new CountDownLatch(1);
  }

  /** Lets copies go. */
  synchronized void release() {
    gate.countDown();
  }

  /** Has copies fail from now on. */
  void fail() {
    failing = true;
  }

  @Override
  public EnginePages pages(PoolLayout layout, MemorySegment pool) {
    return cpu.pages(layout, pool);
  }

  @Override
  public EnginePages open(String memory, PoolLayout layout) {
    return cpu.open(memory, layout);
  }

  @Override
  public Transfer save(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    return begin(() -> cpu.save(pages, pageIds, shards));
  }

  @Override
  public Transfer restore(EnginePages pages, int[] pageIds, MemorySegment[] shards) {
    return begin(() -> cpu.restore(pages, pageIds, shards));
  }

  private synchronized Transfer begin(Supplier<Transfer> copy) {
    return new HeldTransfer(gate, failing, copy);
  }

  @Override
  public void close() {
    cpu.close();
  }

  private static final class HeldTransfer implements Transfer {

    private final CountDownLatch gate;
    private final boolean fails;
    private final Supplier<Transfer> copy;
    private Transfer begun;

    HeldTransfer(CountDownLatch gate, boolean fails, Supplier<Transfer> copy) {
      this.gate = gate;
      this.fails = fails;
      this.copy = copy;
    }

    /** Returns the copies once they are let go. */
    private synchronized Optional<Transfer> begun() {
      if (begun == null && gate.getCount() == 0 && !fails) {
        begun = copy.get();
      }
      return Optional.ofNullable(begun);
    }

    @Override
    public boolean enqueued() {
      return true;
    }

    @Override
    public boolean layerReady(int layer) {
      return begun().map(transfer -> transfer.layerReady(layer)).orElse(false);
    }

    @Override
    public boolean drained() {
      return begun().map(Transfer::drained).orElse(fails && gate.getCount() == 0);
    }

    @Override
    public void awaitDrained() {
      try {
        gate.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException("nothing interrupts a wait for a drain", e);
      }
      begun().ifPresent(Transfer::awaitDrained);
    }

    @Override
    public Optional<Throwable> failure() {
      return fails && drained() ? Optional.of(new IllegalStateException("made to fail")) : Optional.empty();
    }

    @Override
    public int checksum(int index) {
      return begun().orElseThrow(() -> new IllegalStateException("not drained")).checksum(index);
    }
  }
}
