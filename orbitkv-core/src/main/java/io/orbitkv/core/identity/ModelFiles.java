package io.orbitkv.core.identity;

import io.orbitkv.api.RefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The files that decide what a model computes: weights, configuration and code. Files beside them, such as a licence,
 * do not; neither do folders in the model's folder, which the engine does not read.
 *
 * @param files each with its name; by name
 */
record ModelFiles(List<Named> files) {

  /** A file, and what it is called in the digest: nothing if it is the whole model. */
  record Named(String name, Path path) {}

  private static final Set<String> ENDINGS =
      Set.of("safetensors", "bin", "pt", "pth", "gguf", "npz", "json", "model", "tiktoken", "py");

  /** Copies the list. */
  ModelFiles {
    files = List.copyOf(files);
  }

  /**
   * Lists the files of a model or an adapter.
   *
   * @param path its folder, or its one file
   * @throws RefusedException if there is none
   */
  static ModelFiles of(String path) throws IOException {
    Path root = Path.of(path);
    if (Files.isRegularFile(root)) {
      return new ModelFiles(List.of(new Named("", root)));
    }
    if (!root.isAbsolute() || !Files.isDirectory(root)) {
      throw new RefusedException("model path '" + path + "' is no folder and no file; state the absolute path of the"
          + " model's files, or assert a digest of them");
    }
    List<Named> files = new ArrayList<>();
    try (Stream<Path> entries = Files.list(root)) {
      entries.filter(ModelFiles::decides)
          .map(file -> new Named(file.getFileName().toString(), file))
          .sorted(Comparator.comparing(Named::name))
          .forEach(files::add);
    }
    if (files.isEmpty()) {
      throw new RefusedException("model folder '" + path + "' has no file of weights or configuration; state the folder"
          + " that the engine reads, or assert a digest");
    }
    return new ModelFiles(files);
  }

  private static boolean decides(Path file) {
    String name = file.getFileName().toString();
    String ending = name.substring(name.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT);
    return ENDINGS.contains(ending) && !name.startsWith(".") && Files.isRegularFile(file);
  }
}
