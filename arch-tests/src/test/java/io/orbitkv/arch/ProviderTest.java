package io.orbitkv.arch;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Provides;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Loading, naming and listing a provider opens nothing. Every provider of every module is loaded in a process of its
 * own in which the JDK's ways to open files, sockets, libraries, processes and threads are watched.
 */
class ProviderTest {

  private static final String SPI = "io.orbitkv.api.spi.";
  private static final String ADAPTER = "io.orbitkv.core.agent.EngineAdapter";
  private static final String API = "io.orbitkv.api";
  private static final String POLICY = "io.orbitkv.api.spi.ResidencyPolicy";
  private static final String PLANTED = "io.orbitkv.backend.planted";
  private static final String PROBE = "io.orbitkv.arch.provider.ProviderProbe";

  @TempDir
  Path temp;

  @Test
  void everyProviderIsListedWithoutOpeningAnything() {
    assertThat(probe(Build.here()))
        .containsExactlyInAnyOrderElementsOf(providers(Build.here()).map(name -> "provider " + name).toList());
  }

  @Test
  void whateverAProviderOpens_isSeen() {
    Map<String, String> seenByPlanted = Map.ofEntries(
        entry("new java.io.FileInputStream(\"/etc/passwd\").close()", "FileInputStream.open /etc/passwd"),
        entry("new java.io.FileOutputStream(\"/dev/null\").close()", "FileOutputStream.open /dev/null"),
        entry("new java.io.RandomAccessFile(\"/dev/null\", \"r\").close()", "RandomAccessFile.open /dev/null"),
        entry("java.io.File.createTempFile(\"planted\", null).delete()", "UnixFileSystem.createFileExclusively"),
        entry("java.nio.file.Files.newByteChannel(java.nio.file.Path.of(\"/etc/passwd\")).close()",
            "UnixNativeDispatcher.open /etc/passwd"),
        entry("java.nio.file.Files.list(java.nio.file.Path.of(\"/proc\")).close()", "UnixNativeDispatcher.open"),
        entry("java.nio.file.Files.createDirectory(java.nio.file.Path.of(\"/proc/planted\"))",
            "UnixNativeDispatcher.mkdir /proc/planted"),
        entry("Class.forName(\"io.orbitkv.backend.planted.Opener0\", false, getClass().getClassLoader())"
            + ".getResourceAsStream(\"Opener0.class\").close()", "UnixNativeDispatcher.open"),
        entry("new java.net.ServerSocket(0).close()", "Net.serverSocket"),
        entry("java.nio.channels.SocketChannel.open().close()", "Net.socket"),
        entry("java.nio.channels.SocketChannel.open(java.net.StandardProtocolFamily.UNIX).close()",
            "UnixDomainSockets.socket"),
        entry("new Thread(() -> {}).start()", "Thread.start"),
        entry("Thread.ofVirtual().start(() -> {}).join()", "VirtualThread.start"),
        entry("new ProcessBuilder(\"true\").start().waitFor()", "ProcessBuilder.start"),
        entry("System.load(System.getProperty(\"java.home\") + \"/lib/libprefs.so\")", "Runtime.load0 class"),
        entry("System.loadLibrary(\"planted\")", "Runtime.loadLibrary0 class"),
        entry("java.lang.foreign.SymbolLookup.libraryLookup(\"libm.so.6\", java.lang.foreign.Arena.global())",
            "RawNativeLibraries.load"),
        entry("java.lang.foreign.Linker.nativeLinker().downcallHandle(java.lang.foreign.FunctionDescriptor.ofVoid())",
            "AbstractLinker.downcallHandle0"));
    Map<String, String> openedByClass = new LinkedHashMap<>();
    Plant plant = new Plant(temp);
    for (Map.Entry<String, String> planted : seenByPlanted.entrySet()) {
      String type = "Opener" + openedByClass.size();
      openedByClass.put(type, planted.getValue());
      String constructor = "public " + type + "() { try { " + planted.getKey() + "; } catch (Throwable t) { } }";
      plant.source(PLANTED, provider(type, constructor));
    }
    List<String> lines = probe(withDescriptor(plant, openedByClass.keySet()).compile());
    openedByClass.forEach((type, opened) -> assertThat(lines).anySatisfy(line -> assertThat(line)
        .startsWith("opened " + opened).endsWith(" by " + PLANTED + "." + type + ".<init>")));
  }

  @Test
  void whatAStaticInitializerOpens_isSeen() {
    assertThat(probe(planted("static { new java.io.File(\"/proc\").list(); }")))
        .contains("opened UnixFileSystem.list /proc by " + PLANTED + ".Planted.<clinit>");
  }

  @Test
  void whatStaysOpen_isSeenInTheKernel() {
    assertThat(probe(planted("""
        static final Object KEPT = open();
        static Object open() {
          try {
            return java.nio.channels.FileChannel.open(java.nio.file.Path.of("/etc/passwd"));
          } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
          }
        }
        """))).contains("opened descriptor of /etc/passwd");
  }

  @Test
  void providerThatCannotBeMade_isSeen() {
    assertThat(probe(planted("public Planted() { throw new IllegalStateException(\"no device\"); }")))
        .containsExactly("failed " + PLANTED + ".Planted: java.lang.IllegalStateException: no device");
  }

  private Build planted(String member) {
    Plant plant = new Plant(temp).source(PLANTED, provider("Planted", member));
    return withDescriptor(plant, Set.of("Planted")).compile();
  }

  private static Plant withDescriptor(Plant plant, Set<String> providers) {
    String names = providers.stream().map(name -> PLANTED + "." + name).collect(Collectors.joining(", "));
    return plant.module(PLANTED, "requires " + API, "provides " + POLICY + " with " + names);
  }

  private static String provider(String type, String member) {
    return """
        package %s;
        public class %s implements %s {
          public String name() { return "planted"; }
          public io.orbitkv.api.spi.EvictionOrder open(io.orbitkv.api.spi.PolicyOptions options) { return null; }
          %s
        }
        """.formatted(PLANTED, type, POLICY, member);
  }

  private static Stream<String> providers(Build build) {
    return provisions(build).flatMap(provides -> provides.providers().stream());
  }

  private static Stream<Provides> provisions(Build build) {
    return build.descriptors().stream()
        .flatMap(module -> module.provides().stream())
        .filter(provides -> provides.service().startsWith(SPI) || provides.service().equals(ADAPTER));
  }

  /** Runs the probe over all providers and returns what it prints. */
  private List<String> probe(Build build) {
    String modules = build.descriptors().stream()
        .filter(module -> module.name().endsWith(".api") || !module.provides().isEmpty())
        .map(ModuleDescriptor::name)
        .collect(Collectors.joining(","));
    Path agent = temp.resolve("agent.jar");
    jar(temp.resolve("witness.jar"), Map.of(), name -> name.startsWith("Witness"));
    jar(agent, Map.of("Premain-Class", "io.orbitkv.arch.provider.Gates", "Can-Retransform-Classes", "true",
        "Boot-Class-Path", "witness.jar"), name -> !name.startsWith("Witness"));
    List<String> command = new ArrayList<>(List.of(
        System.getProperty("java.home") + "/bin/java", "-XX:+UseSerialGC", "-XX:-PrintWarnings",
        "-javaagent:" + agent, "--module-path", modulePath(build), "--add-modules", modules,
        "--illegal-native-access=deny", "--enable-native-access=" + modules, "--class-path", agent.toString(), PROBE));
    provisions(build).map(Provides::service).distinct().forEach(command::add);
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      List<String> lines = process.inputReader().lines().toList();
      assertThat(process.waitFor()).as(() -> String.join("\n", lines)).isZero();
      return lines;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted while the probe ran", e);
    }
  }

  /** The build's modules and the libraries that they require, without the libraries of the tests. */
  private static String modulePath(Build build) {
    Map<String, Path> path = new LinkedHashMap<>();
    build.modules().forEach(module -> path.put(module.name(), module.classes()));
    build.descriptors().forEach(module -> addRequired(module, path, Build.libraries()));
    return path.values().stream().map(Path::toString).collect(Collectors.joining(":"));
  }

  private static void addRequired(ModuleDescriptor module, Map<String, Path> path, ModuleFinder libraries) {
    for (Requires requires : module.requires()) {
      Optional<ModuleReference> library = libraries.find(requires.name());
      if (library.isPresent() && !path.containsKey(requires.name())) {
        path.put(requires.name(), Path.of(library.get().location().orElseThrow()));
        addRequired(library.get().descriptor(), path, libraries);
      }
    }
  }

  /** Packs the classes of the probe that are chosen by their file's name. */
  private static void jar(Path jar, Map<String, String> attributes, Predicate<String> chosen) {
    Path classes = Repository.root().resolve("arch-tests/target/test-classes");
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    attributes.forEach(manifest.getMainAttributes()::putValue);
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
      for (Path file : BuiltModule.files(classes.resolve("io/orbitkv/arch/provider"), ".class")) {
        if (chosen.test(file.getFileName().toString())) {
          out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
          Files.copy(file, out);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
