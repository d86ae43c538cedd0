package io.orbitkv.arch;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * A compiled module.
 *
 * @param name the module's name
 * @param sources the root of its main sources
 * @param classes the root of its main classes
 * @param testClasses the root of its test classes; may not exist
 */
record BuiltModule(String name, Path sources, Path classes, Path testClasses) {

  /** Reads the compiled descriptor. */
  ModuleDescriptor descriptor() {
    try (InputStream in = Files.newInputStream(classes.resolve("module-info.class"))) {
      return ModuleDescriptor.read(in);
    } catch (IOException e) {
      throw new UncheckedIOException("module " + name + " has no readable module-info.class in " + classes, e);
    }
  }

  /** Returns the names of the packages that have classes. */
  Set<String> packages() {
    Set<String> packages = new TreeSet<>();
    for (Path file : files(classes, ".class")) {
      Path folder = classes.relativize(file).getParent();
      if (folder != null) {
        packages.add(folder.toString().replace('/', '.'));
      }
    }
    return packages;
  }

  /** Returns the files under a folder whose names have an ending, in order. */
  static Iterable<Path> files(Path root, String ending) {
    if (!Files.isDirectory(root)) {
      return Set.of();
    }
    try (Stream<Path> tree = Files.walk(root)) {
      return tree.filter(file -> file.toString().endsWith(ending)).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
