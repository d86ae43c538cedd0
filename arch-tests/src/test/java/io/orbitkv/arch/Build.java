package io.orbitkv.arch;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** The modules that rules are applied to: this repository's, or planted ones. */
final class Build {

  private static final Map<String, String> OUTSIDE_MODULE_BY_PACKAGE = packagesOutside();
  private static final Build HERE = readRepository();

  private final List<BuiltModule> modules;
  private JavaClasses classes;
  private final Map<String, String> moduleByPackage = new HashMap<>(OUTSIDE_MODULE_BY_PACKAGE);

  Build(List<BuiltModule> modules) {
    this.modules = List.copyOf(modules);
    modules.forEach(module -> module.packages().forEach(name -> moduleByPackage.put(name, module.name())));
  }

  /** Returns this repository, as it was compiled by the build that runs the tests. */
  static Build here() {
    return HERE;
  }

  /** Returns the modules in the order of the root pom. */
  List<BuiltModule> modules() {
    return modules;
  }

  /** Returns the module of a name. */
  Optional<BuiltModule> module(String name) {
    return modules.stream().filter(module -> module.name().equals(name)).findFirst();
  }

  /** Returns the descriptors of all modules. */
  List<ModuleDescriptor> descriptors() {
    return modules.stream().map(BuiltModule::descriptor).toList();
  }

  /** Returns the main classes of all modules that people wrote, imported when they are first asked for. */
  JavaClasses classes() {
    if (classes == null) {
      classes = new ClassFileImporter()
          .withImportOption(location -> !location.contains("/jmh_generated/"))
          .importPaths(modules.stream().map(BuiltModule::classes).toList());
    }
    return classes;
  }

  /** Returns the module that a package lies in: one of the build, a library on the class path, or the JDK's. */
  Optional<String> moduleOf(String packageName) {
    return Optional.ofNullable(moduleByPackage.get(packageName));
  }

  /** Returns the modules on the class path of the tests, this build's included. */
  static ModuleFinder libraries() {
    return ModuleFinder.of(Stream.of(System.getProperty("java.class.path").split(":"))
        .map(Path::of)
        .filter(entry -> entry.toString().endsWith(".jar") || Files.exists(entry.resolve("module-info.class")))
        .toArray(Path[]::new));
  }

  private static Map<String, String> packagesOutside() {
    Map<String, String> moduleByPackage = new HashMap<>();
    Stream.of(ModuleFinder.ofSystem(), libraries())
        .flatMap(finder -> finder.findAll().stream())
        .map(ModuleReference::descriptor)
        .forEach(module -> module.packages().forEach(name -> moduleByPackage.put(name, module.name())));
    return Map.copyOf(moduleByPackage);
  }

  /** Every module of the root pom that has main sources. */
  private static Build readRepository() {
    Path root = Repository.root();
    List<String> missing = modulesBuiltTooLate(root.resolve("pom.xml"), root.resolve("arch-tests/pom.xml"));
    if (!missing.isEmpty()) {
      throw new IllegalStateException("Maven may build " + missing
          + " after arch-tests, which would miss it: add it to the dependencies in arch-tests/pom.xml");
    }
    List<BuiltModule> modules = new ArrayList<>();
    for (String artifact : texts(root.resolve("pom.xml"), "module")) {
      Path folder = root.resolve(artifact);
      if (Files.isDirectory(folder.resolve("src/main/java"))) {
        String name = "io.orbitkv." + artifact.replaceFirst("^orbitkv-", "").replace('-', '.');
        modules.add(new BuiltModule(name, folder.resolve("src/main/java"), folder.resolve("target/classes"),
            folder.resolve("target/test-classes")));
      }
    }
    return new Build(modules);
  }

  /** Returns the modules of a root pom that the pom of these tests does not depend on. */
  static List<String> modulesBuiltTooLate(Path rootPom, Path testsPom) {
    // A module in another one's folder has the names of both.
    List<String> modules = texts(rootPom, "module").stream().map(folder -> folder.replace('/', '-')).toList();
    List<String> missing = new ArrayList<>(modules);
    missing.removeAll(texts(testsPom, "artifactId"));
    return missing;
  }

  private static List<String> texts(Path pom, String element) {
    try {
      NodeList found = DocumentBuilderFactory.newDefaultInstance().newDocumentBuilder().parse(pom.toFile())
          .getElementsByTagName(element);
      return IntStream.range(0, found.getLength()).mapToObj(i -> found.item(i).getTextContent().strip()).toList();
    } catch (ParserConfigurationException | SAXException | IOException e) {
      throw new IllegalStateException("cannot read " + pom, e);
    }
  }
}
