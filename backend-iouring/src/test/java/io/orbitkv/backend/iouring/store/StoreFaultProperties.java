package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.backend.iouring.file.Errno;
import java.io.IOException;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/** Random lives of a store on a disk that fails: what survives is right, and what must survive does. */
class StoreFaultProperties {

  @Property(tries = 1500, shrinking = ShrinkingMode.OFF)
  void everythingDurableIsFoundAndRightAfterAnyDeath(@ForAll long seed) throws IOException {
    try (StoreRun run = new StoreRun(seed, true)) {
      Random random = new Random(seed + 1);
      run.disk.faults.shortTransfer = random.nextBoolean() ? 0.2 : 0;
      run.disk.faults.interrupted = random.nextBoolean() ? 0.1 : 0;
      FaultyDisk.Faults faults = run.disk.faults;
      for (int incarnation = 0; incarnation < 4; incarnation++) {
        run.open();
        run.live(random.nextInt(200));
        run.end();
        run.disk.faults.shortTransfer = faults.shortTransfer;
        run.disk.faults.interrupted = faults.interrupted;
      }
      run.open();
    }
  }

  @Property(tries = 1500, shrinking = ShrinkingMode.OFF)
  void neverWrongBytesOnADiskThatFailsAndLies(@ForAll long seed) throws IOException {
    try (StoreRun run = new StoreRun(seed, false)) {
      Random random = new Random(seed + 1);
      for (int incarnation = 0; incarnation < 4; incarnation++) {
        FaultyDisk.Faults faults = run.disk.faults;
        faults.shortTransfer = 0.1;
        faults.interrupted = 0.05;
        faults.noProgress = random.nextBoolean() ? 0.02 : 0;
        faults.readError = random.nextBoolean() ? 0.05 : 0;
        faults.writeError = random.nextBoolean() ? 0.05 : 0;
        faults.writeErrno = new Errno[] {Errno.EIO, Errno.ENOSPC, Errno.EROFS}[random.nextInt(3)];
        faults.syncError = random.nextInt(4) == 0 ? 0.1 : 0;
        faults.lostWrite = random.nextBoolean() ? 0.1 : 0;
        faults.misdirectedWrite = random.nextBoolean() ? 0.1 : 0;
        run.open();
        run.live(random.nextInt(200));
        run.settle();
        for (int flips = random.nextInt(20); flips > 0; flips--) {
          run.disk.flip(random.nextInt(run.disk.image().length), random.nextInt(8));
        }
        run.live(random.nextInt(50));
        run.end();
      }
      run.open();
      assertThat(run.goodReads + run.badReads).isGreaterThanOrEqualTo(0);
    }
  }
}
