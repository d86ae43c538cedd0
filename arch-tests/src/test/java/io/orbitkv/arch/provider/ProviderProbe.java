package io.orbitkv.arch.provider;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads every provider of the services that are its arguments, asks its name, and prints a line for each, then a line
 * for whatever was opened meanwhile.
 */
final class ProviderProbe {

  private ProviderProbe() {}

  /** Prints {@code provider CLASS}, {@code failed CAUSE} and {@code opened WHAT}. */
  public static void main(String[] services) throws ReflectiveOperationException, IOException {
    List<Class<?>> types = new ArrayList<>();
    for (String service : services) {
      types.add(Class.forName(service));
    }
    Held before = Held.now();
    Witness.watch();
    List<String> lines = new ArrayList<>();
    for (Class<?> type : types) {
      list(type, lines);
    }
    Witness.finish().forEach(seen -> lines.add("opened " + seen));
    heldBeyond(before).forEach(held -> lines.add("opened " + held));
    lines.forEach(System.out::println);
  }

  /** What is held is seen by every look; the virtual machine has files open for moments of its own. */
  private static List<String> heldBeyond(Held before) throws IOException {
    List<String> held = new ArrayList<>(Held.now().beyond(before));
    for (int look = 0; look < 100 && !held.isEmpty(); look++) {
      held.retainAll(Held.now().beyond(before));
    }
    return held;
  }

  private static void list(Class<?> service, List<String> lines) throws ReflectiveOperationException {
    for (ServiceLoader.Provider<?> provider : ServiceLoader.load(service).stream().toList()) {
      try {
        service.getMethod("name").invoke(provider.get());
        lines.add("provider " + provider.type().getName());
      } catch (ServiceConfigurationError e) {
        lines.add("failed " + provider.type().getName() + ": " + e.getCause());
      }
    }
  }

  /**
   * What a process holds at one moment, as the kernel says: it sees what native code opens too.
   *
   * @param files targets of the open descriptors
   * @param libraries mapped libraries
   * @param threads live threads
   */
  private record Held(Set<String> files, Set<String> libraries, Set<String> threads) {

    static Held now() throws IOException {
      Set<String> files = new TreeSet<>();
      try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
        for (Path descriptor : descriptors.toList()) {
          try {
            files.add("descriptor of " + Files.readSymbolicLink(descriptor));
          } catch (NoSuchFileException e) {
            // Closed meanwhile.
          }
        }
      }
      Set<String> libraries = Files.readAllLines(Path.of("/proc/self/maps")).stream()
          .filter(line -> line.contains(".so"))
          .map(line -> "library " + line.substring(line.indexOf('/')))
          .collect(Collectors.toSet());
      Set<String> threads = Thread.getAllStackTraces().keySet().stream()
          .map(thread -> "thread " + thread.getName())
          .collect(Collectors.toSet());
      return new Held(files, libraries, threads);
    }

    /** Returns what is held here and was not held before, save what class loading explains. */
    List<String> beyond(Held before) {
      Set<String> more = new HashSet<>();
      Stream.of(files, libraries, threads).forEach(more::addAll);
      Stream.of(before.files, before.libraries, before.threads).forEach(more::removeAll);
      String javaHome = System.getProperty("java.home");
      List<String> modulePath = List.of(System.getProperty("jdk.module.path").split(":"));
      more.removeIf(held -> held.contains(" " + javaHome) || modulePath.stream().anyMatch(held::endsWith));
      return more.stream().sorted().toList();
    }
  }
}
