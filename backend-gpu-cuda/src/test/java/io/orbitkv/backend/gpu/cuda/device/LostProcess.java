package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.api.spi.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/** A process whose context is lost while it loads. It must not get to its last line, nor to its hooks. */
final class LostProcess {

  private LostProcess() {}

  /** Has no arguments. */
  public static void main(String[] args) {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
    FakeDriver driver = new FakeDriver();
    Arena arena = Arena.global();
    Device device = new CudaBackend().open(new DeviceOptions(0, Map.of("driver", FakeDriver.LIBRARY)));
    MemorySegment host = arena.allocate(1 << 20, 4096);
    ((PinnedMemory) device.hostMemory(host)).awaitPinned();
    PoolLayout layout = PoolLayout.of(new PageLayout(1, 1, 4096, 4096, 4096));
    EnginePages pages = device.open(driver.export(false, arena.allocate(4096, 16)), layout);
    driver.hold();
    Transfer load = device.restore(pages, new int[1], new MemorySegment[] {host.asSlice(0, 4096)});
    driver.loseContext();
    System.out.println("waiting");
    load.awaitDrained();
    System.out.println("drained");
  }
}
