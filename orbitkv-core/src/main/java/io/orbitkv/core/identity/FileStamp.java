package io.orbitkv.core.identity;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What tells one state of a file from another without reading it. The change time cannot be set, so a file that was
 * written to and given its old modification time back differs too.
 *
 * @param device number of the device
 * @param inode number of the file on it
 * @param size in bytes
 * @param modifiedNanos modification time since the epoch
 * @param changedNanos change time since the epoch
 */
record FileStamp(long device, long inode, long size, long modifiedNanos, long changedNanos) {

  /** Timestamps move in steps: two changes within one look like one. */
  private static final long STEP_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** Reads that of a file, or of what a link leads to. */
  static FileStamp of(Path file) throws IOException {
    Map<String, Object> read = Files.readAttributes(file, "unix:dev,ino,size,lastModifiedTime,ctime");
    return new FileStamp(((Number) read.get("dev")).longValue(), ((Number) read.get("ino")).longValue(),
        ((Number) read.get("size")).longValue(), nanos(read.get("lastModifiedTime")), nanos(read.get("ctime")));
  }

  private static long nanos(Object time) {
    return ((FileTime) time).to(TimeUnit.NANOSECONDS);
  }

  /** Returns whether a change after now would have to show in the stamp. */
  boolean isSettled(long nowNanos) {
    return nowNanos - Math.max(modifiedNanos, changedNanos) > STEP_NANOS;
  }
}
