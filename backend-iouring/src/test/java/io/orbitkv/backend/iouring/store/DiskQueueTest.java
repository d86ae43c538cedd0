package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.StoreStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Transfers longer than one part, over a disk that ends their parts in any order and often short. */
class DiskQueueTest {

  private static final int PART = 2 * Page.BYTES;
  private static final int DISK = 64 * Page.BYTES;

  private final Arena arena = Arena.ofConfined();
  private final List<StoreStatus> endings = new ArrayList<>();

  @AfterEach
  void free() {
    arena.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 16})
  void everyPartOfLongTransfersArrives_whateverTheirOrder(int depth) {
    for (int seed = 0; seed < 200; seed++) {
      FaultyDisk disk = new FaultyDisk(DISK, new Random(seed));
      disk.faults.shortTransfer = 0.3;
      disk.faults.interrupted = 0.1;
      DiskQueue queue = new DiskQueue(disk.open(depth), PART);
      MemorySegment first = noise(7, seed);
      MemorySegment second = noise(12, seed + 1);
      Ending sync = new Ending();
      queue.write(new Ending(), first, 0);
      queue.write(new Ending(), second, 20L * Page.BYTES);
      queue.sync(sync);
      drain(queue);
      MemorySegment back = arena.allocate(second.byteSize(), Page.BYTES);
      queue.read(new Ending(), back, 20L * Page.BYTES);
      drain(queue);

      assertThat(endings).hasSize(4).containsOnly(StoreStatus.OK);
      assertThat(back.mismatch(second)).isEqualTo(-1);
      assertThat(MemorySegment.ofArray(disk.image()).asSlice(0, first.byteSize()).mismatch(first)).isEqualTo(-1);
      endings.clear();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 16})
  void aFailedPartFailsItsTransferOnce_andNoOther(int depth) {
    for (int seed = 0; seed < 200; seed++) {
      FaultyDisk disk = new FaultyDisk(DISK, new Random(seed));
      DiskQueue queue = new DiskQueue(disk.open(depth), PART);
      disk.faults.writeError = 0.2;
      Ending failing = new Ending();
      queue.write(failing, noise(16, seed), 0);
      while (failing.endings == 0) {
        queue.turn(true);
      }
      disk.faults.writeError = 0;
      Ending sound = new Ending();
      queue.write(sound, noise(16, seed), 0);
      drain(queue);

      assertThat(failing.endings).isOne();
      assertThat(sound.endings).isOne();
      assertThat(endings.getLast()).isEqualTo(StoreStatus.OK);
    }
    assertThat(endings).contains(StoreStatus.IO_ERROR);
  }

  @Test
  void aFailureDropsThePartsThatHaveNotBegun() {
    FaultyDisk disk = new FaultyDisk(DISK, new Random(1));
    disk.faults.readError = 1;
    DiskQueue queue = new DiskQueue(disk.open(1), PART);
    Ending behind = new Ending();
    Ending failing = new Ending() {
      @Override
      void ended(StoreStatus status) {
        super.ended(status);
        disk.faults.readError = 0;
        queue.read(behind, arena.allocate(4 * PART, Page.BYTES), 0);
      }
    };
    queue.read(failing, arena.allocate(8 * PART, Page.BYTES), 0);
    drain(queue);

    assertThat(endings).containsExactly(StoreStatus.IO_ERROR, StoreStatus.OK);
  }

  @Test
  void aTransferHasMemoryInFlightUntilItsLastPartEnds() {
    FaultyDisk disk = new FaultyDisk(DISK, new Random(3));
    DiskQueue queue = new DiskQueue(disk.open(2), PART);
    Ending transfer = new Ending();
    queue.write(transfer, noise(8, 0), 0);
    while (transfer.endings == 0) {
      queue.turn(false);
      assertThat(transfer.inFlight()).isEqualTo(transfer.endings == 0);
    }
  }

  private void drain(DiskQueue queue) {
    while (!queue.isIdle()) {
      queue.turn(true);
    }
  }

  private MemorySegment noise(int pages, long seed) {
    MemorySegment memory = arena.allocate((long) pages * Page.BYTES, Page.BYTES);
    byte[] bytes = new byte[pages * Page.BYTES];
    new Random(seed).nextBytes(bytes);
    MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, 0, bytes.length);
    return memory;
  }

  private class Ending extends DiskTransfer {

    int endings;

    @Override
    void ended(StoreStatus status) {
      endings++;
      DiskQueueTest.this.endings.add(status);
    }
  }
}
