package io.orbitkv.backend.iouring.store;

import io.orbitkv.backend.iouring.file.Errno;
import io.orbitkv.backend.iouring.file.StoreFile;
import io.orbitkv.backend.iouring.file.TransferRules;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * A file on a disk in memory, with every liberty that a real one takes. Requests end in any order; any may end short;
 * what was written and not synced may be lost, torn at sectors or reordered when the machine dies. Beyond that it fails
 * and lies as it is told. One seed decides everything.
 */
final class FaultyDisk {

  /** Which faults there are, as chances from 0 to 1. */
  static final class Faults {
    double shortTransfer;
    double interrupted;
    double noProgress;
    double readError;
    double writeError;
    double syncError;

    /** A write that is reported as done and synced and never was. */
    double lostWrite;

    /** A write that lands on another page than it was meant for. */
    double misdirectedWrite;

    Errno writeErrno = Errno.EIO;
  }

  private record Write(long position, byte[] bytes) {}

  final Faults faults = new Faults();
  private final Random random;
  private final byte[] durable;
  private final byte[] visible;
  private final List<Write> unsynced = new ArrayList<>();
  private OpenFile open;

  FaultyDisk(long bytes, Random random) {
    this(new byte[Math.toIntExact(bytes)], random);
  }

  private FaultyDisk(byte[] image, Random random) {
    this.durable = image;
    this.visible = image.clone();
    this.random = random;
  }

  StoreFile open(int depth) {
    open = new OpenFile(depth);
    return open;
  }

  /** The machine dies: returns the disk that it finds when it is up again. */
  FaultyDisk powerLoss() {
    return new FaultyDisk(survivors(List.copyOf(unsynced)), random);
  }

  /** The process dies: what the system had taken stays. */
  FaultyDisk kill() {
    unsynced.forEach(write -> apply(durable, write));
    return new FaultyDisk(survivors(List.of()), random);
  }

  byte[] image() {
    return visible;
  }

  void flip(long position, int bit) {
    visible[Math.toIntExact(position)] ^= (byte) (1 << bit);
    durable[Math.toIntExact(position)] ^= (byte) (1 << bit);
  }

  /** Everything from a position on is gone. */
  void zeroFrom(long position) {
    Arrays.fill(visible, Math.toIntExact(position), visible.length, (byte) 0);
    Arrays.fill(durable, Math.toIntExact(position), durable.length, (byte) 0);
  }

  private byte[] survivors(List<Write> completed) {
    List<Write> writes = new ArrayList<>(completed);
    if (open != null) {
      open.inFlight.stream()
          .filter(pending -> pending.kind == Kind.WRITE)
          .forEach(pending -> writes.add(new Write(pending.position, bytesOf(pending.memory))));
    }
    Collections.shuffle(writes, random);
    int sector = random.nextBoolean() ? 512 : 4096;
    double chance = new double[] {0, 0.1, 0.5, 0.9, 1}[random.nextInt(5)];
    byte[] image = durable.clone();
    for (Write write : writes) {
      for (int at = 0; at < write.bytes().length; at += sector) {
        if (random.nextDouble() < chance) {
          int length = Math.min(sector, write.bytes().length - at);
          System.arraycopy(write.bytes(), at, image, Math.toIntExact(write.position() + at), length);
        }
      }
    }
    return image;
  }

  private static void apply(byte[] image, Write write) {
    System.arraycopy(write.bytes(), 0, image, Math.toIntExact(write.position()), write.bytes().length);
  }

  private static byte[] bytesOf(MemorySegment memory) {
    return memory.toArray(ValueLayout.JAVA_BYTE);
  }

  private boolean happens(double chance) {
    return chance > 0 && random.nextDouble() < chance;
  }

  private enum Kind {
    READ,
    WRITE,
    SYNC
  }

  private record Pending(Kind kind, long token, MemorySegment memory, long position, List<Write> covered) {}

  private final class OpenFile implements StoreFile {

    private final int depth;
    private final List<Pending> inFlight = new ArrayList<>();
    private boolean closed;

    OpenFile(int depth) {
      this.depth = depth;
    }

    @Override
    public int depth() {
      return depth;
    }

    @Override
    public String register(List<MemorySegment> regions) {
      return "nothing to register";
    }

    @Override
    public void read(long token, MemorySegment target, long position) {
      TransferRules.check(target, position);
      add(new Pending(Kind.READ, token, target, position, List.of()));
    }

    @Override
    public void write(long token, MemorySegment source, long position) {
      TransferRules.check(source, position);
      add(new Pending(Kind.WRITE, token, source, position, List.of()));
    }

    @Override
    public void sync(long token) {
      add(new Pending(Kind.SYNC, token, null, 0, List.copyOf(unsynced)));
    }

    private void add(Pending pending) {
      if (closed || inFlight.size() == depth) {
        throw new IllegalStateException(closed ? "closed" : "more than " + depth + " in flight");
      }
      inFlight.add(pending);
    }

    @Override
    public int poll(Completions completions, boolean wait) {
      int count = inFlight.isEmpty() ? 0 : random.nextInt(inFlight.size() + 1);
      if (wait && count == 0 && !inFlight.isEmpty()) {
        count = 1;
      }
      List<Pending> ended = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        ended.add(inFlight.remove(random.nextInt(inFlight.size())));
      }
      for (Pending pending : ended) {
        completions.completed(pending.token(), end(pending));
      }
      return count;
    }

    private int end(Pending pending) {
      if (happens(faults.interrupted)) {
        return -(random.nextBoolean() ? Errno.EINTR : Errno.EAGAIN).number();
      }
      return switch (pending.kind()) {
        case READ -> read(pending);
        case WRITE -> write(pending);
        case SYNC -> sync(pending);
      };
    }

    private int length(Pending pending) {
      int whole = Math.toIntExact(pending.memory().byteSize());
      if (happens(faults.noProgress)) {
        return 0;
      }
      return happens(faults.shortTransfer) ? 512 * (1 + random.nextInt(whole / 512)) : whole;
    }

    private int read(Pending read) {
      if (happens(faults.readError)) {
        return -Errno.EIO.number();
      }
      int length = length(read);
      MemorySegment.copy(visible, Math.toIntExact(read.position()), read.memory(), ValueLayout.JAVA_BYTE, 0, length);
      return length;
    }

    private int write(Pending write) {
      boolean fails = happens(faults.writeError);
      // A write that fails may have changed a part all the same.
      int length = fails ? 512 * random.nextInt(1 + (int) (write.memory().byteSize() / 512)) : length(write);
      if (!happens(faults.lostWrite)) {
        byte[] bytes = bytesOf(write.memory().asSlice(0, length));
        Write done = new Write(happens(faults.misdirectedWrite) ? anywhere(length) : write.position(), bytes);
        apply(visible, done);
        unsynced.add(done);
      }
      return fails ? -faults.writeErrno.number() : length;
    }

    private long anywhere(int length) {
      return (long) random.nextInt((visible.length - length) / Page.BYTES + 1) * Page.BYTES;
    }

    private int sync(Pending sync) {
      if (happens(faults.syncError)) {
        // The kernel has forgotten what it could not write: no later sync brings it to the disk.
        unsynced.removeAll(sync.covered());
        return -Errno.EIO.number();
      }
      for (Write write : sync.covered()) {
        if (unsynced.remove(write)) {
          apply(durable, write);
        }
      }
      return 0;
    }

    @Override
    public void wake() {
      // The one thread there is does not sleep.
    }

    @Override
    public void close() {
      // In flight at a close: each ends in some way.
      while (!inFlight.isEmpty()) {
        poll((token, result) -> { }, true);
      }
      closed = true;
    }
  }
}
