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

  /** Every module of the root pom, whether or not this module's pom knows it, so that a new one is covered at once. */
  private static Build readRepository() {
    Path root = Repository.root();
    List<BuiltModule> modules = new ArrayList<>();
    for (String artifact : modulesOf(root.resolve("pom.xml"))) {
      Path folder = root.resolve(artifact);
      Path classes = folder.resolve("target/classes");
      if (Files.isDirectory(folder.resolve("src/main/java"))) {
        if (!Files.isDirectory(classes)) {
          throw new IllegalStateException("module " + artifact + " is not compiled. It has to be built before"
              + " arch-tests: add it to the dependencies in arch-tests/pom.xml");
        }
        String name = "io.orbitkv." + artifact.replaceFirst("^orbitkv-", "").replace('-', '.');
        modules.add(new BuiltModule(
            name, folder.resolve("src/main/java"), classes, folder.resolve("target/test-classes")));
      }
    }
    return new Build(modules);
  }

  private static List<String> modulesOf(Path pom) {
    try {
      NodeList modules = DocumentBuilderFactory.newDefaultInstance().newDocumentBuilder().parse(pom.toFile())
          .getElementsByTagName("module");
      List<String> names = new ArrayList<>();
      for (int i = 0; i < modules.getLength(); i++) {
        names.add(modules.item(i).getTextContent().strip());
      }
      return names;
    } catch (ParserConfigurationException | SAXException | IOException e) {
      throw new IllegalStateException("cannot read the modules of " + pom, e);
    }
  }
}
