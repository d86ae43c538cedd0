package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.backend.iouring.file.StoreFiles;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The folder of a store: {@code lock}, {@code owner} and the one data file. Creates, checks, grows and repairs it before
 * service begins; the disk space of all of it never exceeds the capacity.
 *
 * <p>A new file is made under another name, allocated and given its superblock, and renamed when it is durable. So a
 * file of the right name is whole, and one of the other name is the rest of an attempt that died.
 */
final class StoreFolder {

  static final String DATA_FILE = "extents.orbitkv";
  static final String NEW_FILE = "extents.orbitkv.new";

  /** Also what a file system puts into its own root. */
  private static final Set<String> KNOWN = Set.of(FolderLock.FILE, Owner.FILE, DATA_FILE, NEW_FILE, "lost+found");

  private static final System.Logger LOGGER = System.getLogger(StoreFolder.class.getName());

  private final StoreOptions options;
  private final Settings settings;
  private final StoreFiles files;
  private final Path folder;
  private final Path data;
  private final Drops drops = new Drops();

  private StoreFolder(StoreOptions options, Settings settings, StoreFiles files) {
    this.options = options;
    this.settings = settings;
    this.files = files;
    this.folder = options.directory();
    this.data = folder.resolve(DATA_FILE);
  }

  /**
   * Opens or creates the store of a folder.
   *
   * @param files how its file is driven
   */
  static BlockStore open(StoreOptions options, Settings settings, StoreFiles files) {
    return new StoreFolder(options, settings, files).open();
  }

  private BlockStore open() {
    FolderLock lock = null;
    try {
      // Everything that can be refused is refused before anything is touched.
      requireOwnFolder(folder);
      Optional<SuperblockCopies> existing = existing(data);
      int segments = existing.isPresent() ? plannedSegments(existing.get().newest()) : segmentsOfNewStore();
      createFolder();
      lock = FolderLock.acquire(folder);
      removeAbandoned();
      // Read again: another process may have made or grown the store before this one owned it.
      existing = existing(data);
      Superblock superblock = existing.isPresent()
          ? reopen(existing.get(), plannedSegments(existing.get().newest()))
          : create(segments);
      // Whether the machine grants this way of access is to be known now, not when service begins.
      files.open(data, settings.depth()).close();
      FolderLock held = lock;
      return new SegmentStore(superblock, () -> files.open(data, settings.depth()), drops, () -> release(held), LOGGER);
    } catch (IOException e) {
      release(lock);
      throw unavailable(e);
    } catch (RuntimeException e) {
      release(lock);
      throw e;
    }
  }

  // What the folder holds.

  /** Refuses a folder that holds anything but a store. */
  static void requireOwnFolder(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    if (!Files.isDirectory(folder)) {
      throw new RefusedException("store folder " + folder + " is not a folder; give the path of one, or of none yet");
    }
    try (Stream<Path> entries = Files.list(folder)) {
      Optional<String> foreign = entries.map(entry -> entry.getFileName().toString())
          .filter(name -> !KNOWN.contains(name))
          .sorted()
          .findFirst();
      if (foreign.isPresent()) {
        throw new RefusedException("store folder " + folder + " holds '" + foreign.get()
            + "', which is no part of a store; it is left as it is, give a folder of its own");
      }
    }
  }

  /**
   * Reads the superblock of a data file.
   *
   * @return empty if there is no file
   * @throws RefusedException if the file is not one that this code can use
   */
  static Optional<SuperblockCopies> existing(Path data) throws IOException {
    if (!Files.exists(data)) {
      return Optional.empty();
    }
    SuperblockCopies copies = SuperblockCopies.read(data);
    if (copies.newest() == null) {
      throw new RefusedException(data + " " + copies.whyNot() + "; it is left as it is");
    }
    return Optional.of(copies);
  }

  // How large the store is to be.

  private int segmentsOfNewStore() {
    long segmentBytes = newSegmentBytes();
    int segments = Sizing.segments(options.capacityBytes(), segmentBytes);
    if (segments < Sizing.MIN_SEGMENTS) {
      long least = Sizing.footprintBytes(Superblock.PREAMBLE_BYTES + Sizing.MIN_SEGMENTS * segmentBytes);
      throw new RefusedException("store capacity is " + new ByteSize(options.capacityBytes()) + ", expected at least "
          + least + " bytes for " + Sizing.MIN_SEGMENTS + " segments of " + new ByteSize(segmentBytes)
          + "; raise it or lower " + Settings.SEGMENT_BYTES);
    }
    return segments;
  }

  private long newSegmentBytes() {
    return settings.segmentBytes() != 0
        ? settings.segmentBytes()
        : Sizing.defaultSegmentBytes(options.capacityBytes());
  }

  private int plannedSegments(Superblock superblock) {
    if (settings.segmentBytes() != 0 && settings.segmentBytes() != superblock.segmentBytes()) {
      throw new RefusedException("store " + folder + " has segments of " + superblock.segmentBytes() + " bytes and "
          + Settings.SEGMENT_BYTES + " is " + settings.segmentBytes()
          + "; leave the setting out, or delete the folder to make the store anew");
    }
    long footprint = Sizing.footprintBytes(superblock.fileBytes());
    if (footprint > options.capacityBytes()) {
      throw new RefusedException("store " + folder + " takes up to " + footprint + " bytes and the capacity is "
          + options.capacityBytes() + "; raise the capacity, or delete the folder to make a smaller store");
    }
    return Math.max(superblock.segments(), Sizing.segments(options.capacityBytes(), superblock.segmentBytes()));
  }

  // Making it so.

  private void createFolder() throws IOException {
    if (!Files.exists(folder)) {
      // What it will hold are people's prompts, in a form that can be read back.
      Files.createDirectories(folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }
  }

  private void removeAbandoned() throws IOException {
    if (Files.deleteIfExists(folder.resolve(NEW_FILE))) {
      LOGGER.log(Level.INFO, "removed " + folder.resolve(NEW_FILE) + ", left from a creation that did not end");
    }
  }

  private Superblock create(int segments) throws IOException {
    Superblock superblock =
        new Superblock(StoreId.random(), newSegmentBytes(), segments, System.currentTimeMillis(), 1);
    requireSpace(superblock.fileBytes());
    Path unfinished = folder.resolve(NEW_FILE);
    long start = System.nanoTime();
    try {
      Files.createFile(
          unfinished, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      files.extend(unfinished, superblock.fileBytes());
      for (int copy = 0; copy < Superblock.COPIES.size(); copy++) {
        SuperblockCopies.write(unfinished, superblock, copy);
      }
      Files.move(unfinished, data, StandardCopyOption.ATOMIC_MOVE);
      try (FileChannel entries = FileChannel.open(folder, StandardOpenOption.READ)) {
        entries.force(true);
      }
    } catch (IOException e) {
      Files.deleteIfExists(unfinished);
      throw e;
    }
    LOGGER.log(Level.INFO, "made store " + superblock.id() + " in " + folder + ": " + segments + " segments of "
        + new ByteSize(superblock.segmentBytes()) + ", " + (System.nanoTime() - start) / 1_000_000 + " ms");
    return superblock;
  }

  private Superblock reopen(SuperblockCopies copies, int segments) throws IOException {
    Superblock superblock = copies.newest();
    long bytes = Files.size(data);
    if (bytes > superblock.fileBytes()) {
      LOGGER.log(Level.WARNING, data + " has " + bytes + " bytes, " + (bytes - superblock.fileBytes())
          + " more than its segments; cut off, as after a growth that did not end");
      truncate(superblock.fileBytes());
    } else if (bytes < superblock.fileBytes()) {
      long whole = Math.max(0, bytes - Superblock.PREAMBLE_BYTES) / superblock.segmentBytes();
      drops.add(Drops.Reason.TRUNCATED_SEGMENT, superblock.segments() - whole);
      LOGGER.log(Level.WARNING, data + " has " + bytes + " bytes, expected " + superblock.fileBytes() + "; "
          + (superblock.segments() - whole) + " segments were cut and are made anew");
      requireSpace(superblock.fileBytes() - bytes);
      files.extend(data, superblock.fileBytes());
    }
    for (int copy : copies.stale()) {
      LOGGER.log(Level.WARNING, "superblock copy " + copy + " of " + data + " is damaged or old; written anew");
      SuperblockCopies.write(data, superblock, copy);
    }
    return segments > superblock.segments() ? grow(superblock, segments) : superblock;
  }

  private Superblock grow(Superblock superblock, int segments) throws IOException {
    Superblock grown = superblock.grownTo(segments);
    requireSpace(grown.fileBytes() - superblock.fileBytes());
    try {
      files.extend(data, grown.fileBytes());
    } catch (IOException e) {
      truncate(superblock.fileBytes());
      throw e;
    }
    // The copies one after the other, each durable: whenever this ends, one of them is intact.
    for (int copy = 0; copy < Superblock.COPIES.size(); copy++) {
      SuperblockCopies.write(data, grown, copy);
    }
    LOGGER.log(Level.INFO,
        "store " + grown.id() + " grew from " + superblock.segments() + " to " + segments + " segments");
    return grown;
  }

  private void truncate(long bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(data, StandardOpenOption.WRITE)) {
      channel.truncate(bytes);
    }
  }

  private void requireSpace(long bytes) throws IOException {
    long usable = Files.getFileStore(folder).getUsableSpace();
    if (usable < bytes) {
      throw new UnavailableException("store " + folder + " needs " + bytes + " more bytes of disk and "
          + usable + " are free; free some, or lower the capacity of " + options.capacityBytes());
    }
  }

  private UnavailableException unavailable(IOException e) {
    String reason = switch (e) {
      case AccessDeniedException denied -> "access to " + denied.getFile() + " is denied; give this user the folder";
      case FileSystemException failure when failure.getReason() != null ->
          failure.getReason() + " (" + failure.getFile() + ")";
      default -> e.getMessage();
    };
    return new UnavailableException("store " + folder + " with a capacity of " + options.capacityBytes()
        + " bytes cannot be opened: " + reason, e);
  }

  private static void release(FolderLock lock) {
    if (lock == null) {
      return;
    }
    try {
      lock.close();
    } catch (IOException e) {
      LOGGER.log(Level.WARNING, "giving up a store's folder failed: " + e.getMessage());
    }
  }
}
