package io.orbitkv.core.manager;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** How it is known that nothing of a member can touch memory any more. It is asked outside turns: it reads files. */
sealed interface Proof {

  /** Returns whether it is given by now. What cannot be found out is no proof. */
  boolean isGiven();

  /** Returns what is waited for, in words. */
  String waitingFor();

  /**
   * The member's process, where its number means the same to both sides.
   *
   * @param processes the processes that are shown here
   * @param pid its number
   * @param startTime when it started
   */
  record Exit(Processes processes, long pid, long startTime) implements Proof {
    @Override
    public boolean isGiven() {
      return processes.isGone(pid, startTime);
    }

    @Override
    public String waitingFor() {
      return "process " + pid + " to be gone";
    }
  }

  /**
   * A lock on a file, which the member's process holds from its registration on. A process that exits gives up its memory
   * before it closes its files, so when the kernel drops the lock, its mappings are gone.
   *
   * @param file the witness
   */
  record Unlocked(Path file) implements Proof {
    @Override
    public boolean isGiven() {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE); FileLock lock = channel.tryLock()) {
        return lock != null;
      } catch (OverlappingFileLockException e) {
        // A member in this process.
        return false;
      } catch (IOException e) {
        return false;
      }
    }

    @Override
    public String waitingFor() {
      return "the lock on " + file.getFileName() + " to be dropped";
    }
  }
}
