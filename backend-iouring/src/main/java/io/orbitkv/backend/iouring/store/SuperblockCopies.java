package io.orbitkv.backend.iouring.store;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Both superblocks of a data file, as they were found.
 *
 * @param newest the intact one of the highest revision, or null if none is intact
 * @param stale indices of copies that are not equal to it
 * @param whyNot if none is intact, why, in words that follow the file's name
 */
record SuperblockCopies(Superblock newest, List<Integer> stale, String whyNot) {

  /** Reads a file; what lies beyond its end counts as zero. */
  static SuperblockCopies read(Path data) throws IOException {
    Superblock newest = null;
    List<Superblock> found = new ArrayList<>();
    boolean bearsMagic = false;
    int otherVersion = 0;
    Checksum checksum = new Checksum();
    try (FileChannel channel = FileChannel.open(data, StandardOpenOption.READ)) {
      for (long position : Superblock.COPIES) {
        MemorySegment page = readPage(channel, position);
        Superblock.Condition condition = Superblock.condition(page, checksum);
        bearsMagic |= condition != Superblock.Condition.FOREIGN;
        if (condition == Superblock.Condition.OTHER_VERSION) {
          otherVersion = Page.version(page);
        }
        Superblock copy = condition == Superblock.Condition.INTACT ? Superblock.decode(page) : null;
        found.add(copy);
        if (copy != null && (newest == null || copy.revision() > newest.revision())) {
          newest = copy;
        }
      }
    }
    List<Integer> stale = new ArrayList<>();
    for (int copy = 0; copy < found.size(); copy++) {
      if (newest != null && !newest.equals(found.get(copy))) {
        stale.add(copy);
      }
    }
    return new SuperblockCopies(newest, stale, newest == null ? whyNot(bearsMagic, otherVersion) : null);
  }

  private static String whyNot(boolean bearsMagic, int otherVersion) {
    if (otherVersion != 0) {
      return "has format version " + otherVersion + " and this release reads version " + Page.FORMAT_VERSION
          + "; use a release that reads it, or another folder";
    }
    return bearsMagic
        ? "is a store of which both superblocks are damaged; delete the folder to make the store anew"
        : "is no store: it has no superblock; use another folder";
  }

  /** Writes one copy and makes it durable. */
  static void write(Path data, Superblock superblock, int copy) throws IOException {
    ByteBuffer page = ByteBuffer.allocate(Page.BYTES);
    superblock.encode(MemorySegment.ofBuffer(page), new Checksum());
    try (FileChannel channel = FileChannel.open(data, StandardOpenOption.WRITE)) {
      long position = Superblock.COPIES.get(copy);
      while (page.hasRemaining()) {
        position += channel.write(page, position);
      }
      channel.force(true);
    }
  }

  private static MemorySegment readPage(FileChannel channel, long position) throws IOException {
    ByteBuffer page = ByteBuffer.allocate(Page.BYTES);
    int read = 0;
    while (page.hasRemaining() && read >= 0) {
      read = channel.read(page, position + page.position());
    }
    return MemorySegment.ofArray(page.array());
  }
}
