package io.orbitkv.core.manager;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * The processes of this pid namespace, as the kernel shows them. A number names a process only together with the time
 * at which it started, since numbers are used again.
 */
final class Processes {

  /** Fields of {@code /proc/PID/stat} are counted from the state, which is the third of them. */
  private static final int STATE = 0;

  private static final int START_TIME = 22 - 3;

  private final Path proc;

  /** @param proc where the kernel shows processes, {@code /proc} */
  Processes(Path proc) {
    this.proc = proc;
  }

  /** Returns the inode of this process's pid namespace, or zero if it is not shown. */
  long ownNamespace() {
    try {
      String link = Files.readSymbolicLink(proc.resolve("self/ns/pid")).toString();
      return Long.parseLong(link.substring(link.indexOf('[') + 1, link.indexOf(']')));
    } catch (IOException | RuntimeException e) {
      return 0;
    }
  }

  /** Returns when a process started, in the kernel's ticks since boot; nothing if there is none of this number. */
  OptionalLong startTime(long pid) throws IOException {
    try {
      return OptionalLong.of(Long.parseLong(fields(proc.resolve(Long.toString(pid)))[START_TIME]));
    } catch (NoSuchFileException e) {
      return OptionalLong.empty();
    }
  }

  /**
   * Returns whether nothing of a process can touch memory any more: its number is free or another process's, or it and
   * all its threads have exited and wait to be reaped. A thread gives up its memory before it is shown as a zombie.
   *
   * @param pid its number
   * @param startTime when it started
   */
  boolean isGone(long pid, long startTime) {
    Path process = proc.resolve(Long.toString(pid));
    try {
      String[] fields = fields(process);
      if (Long.parseLong(fields[START_TIME]) != startTime) {
        return true;
      }
      return isDead(fields) && threadsAreDead(process);
    } catch (NoSuchFileException e) {
      return true;
    } catch (IOException | RuntimeException e) {
      // It may be going at this very moment; whatever it was, it is no proof.
      return false;
    }
  }

  /** The first thread of a process can end before the others do. */
  private static boolean threadsAreDead(Path process) throws IOException {
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(process.resolve("task"))) {
      for (Path thread : threads) {
        try {
          if (!isDead(fields(thread))) {
            return false;
          }
        } catch (NoSuchFileException e) {
          // This thread is gone, which is what was asked.
          continue;
        }
      }
      return true;
    }
  }

  private static boolean isDead(String[] fields) {
    return fields[STATE].equals("Z") || fields[STATE].equals("X");
  }

  /** The name in parentheses may hold anything, so fields are counted behind its end. */
  private static String[] fields(Path process) throws IOException {
    String stat = Files.readString(process.resolve("stat"));
    return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
  }
}
