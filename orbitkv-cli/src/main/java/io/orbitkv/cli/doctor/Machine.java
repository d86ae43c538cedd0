package io.orbitkv.cli.doctor;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** The machine, as its files show it. */
public final class Machine {

  private final Path root;
  private final Disks disks;

  /** How much room there is under a path. */
  interface Disks {
    Space space(Path folder) throws IOException;
  }

  /**
   * Room of one file system.
   *
   * @param totalBytes its size
   * @param usableBytes what this process may still take
   */
  record Space(long totalBytes, long usableBytes) {}

  /**
   * @param root the folder that the machine's files lie in
   * @param disks tells room
   */
  Machine(Path root, Disks disks) {
    this.root = root;
    this.disks = disks;
  }

  /** Returns the machine that this process runs on. */
  public static Machine here() {
    return new Machine(Path.of("/"), folder -> new Space(
        Files.getFileStore(folder).getTotalSpace(), Files.getFileStore(folder).getUsableSpace()));
  }

  /** Returns a file's text without the white space around it; nothing if it cannot be read. */
  Optional<String> text(String path) {
    try {
      return Optional.of(Files.readString(file(path)).strip());
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** Returns where a symbolic link leads. */
  Optional<String> link(String path) {
    try {
      return Optional.of(Files.readSymbolicLink(file(path)).toString());
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  boolean exists(String path) {
    return Files.exists(file(path));
  }

  boolean isReadableAndWritable(String path) {
    return Files.isReadable(file(path)) && Files.isWritable(file(path));
  }

  /** Returns the names in a folder that match a pattern of the shell. */
  List<String> names(String folder, String glob) {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(file(folder), glob)) {
      entries.forEach(entry -> names.add(entry.getFileName().toString()));
    } catch (IOException e) {
      return List.of();
    }
    names.sort(null);
    return names;
  }

  /** Returns the room under a path, or under the nearest folder above it that exists. */
  Optional<Space> space(Path path) {
    for (Path folder = path; folder != null; folder = folder.getParent()) {
      if (exists(folder.toString())) {
        try {
          return Optional.of(disks.space(file(folder.toString())));
        } catch (IOException e) {
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }

  /**
   * Returns a size from a file of lines like {@code MemFree:  12 kB}.
   *
   * @return bytes
   */
  OptionalLong kibibytes(String file, String key) {
    return text(file).stream().flatMap(String::lines)
        .filter(line -> line.startsWith(key + ":"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
        .findFirst();
  }

  /**
   * Returns a soft limit of this process.
   *
   * @param name as in {@code /proc/self/limits}
   * @return the limit, {@link Long#MAX_VALUE} if there is none
   */
  OptionalLong limit(String name) {
    return text("/proc/self/limits").stream().flatMap(String::lines)
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name))
        .map(line -> line.substring(name.length()).strip().split("\\s+")[0])
        .mapToLong(value -> value.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(value))
        .findFirst();
  }

  private Path file(String path) {
    return root.resolve(path.substring(1));
  }
}
