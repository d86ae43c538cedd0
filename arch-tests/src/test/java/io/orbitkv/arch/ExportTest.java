package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Exports;
import java.lang.module.ModuleDescriptor.Modifier;
import java.lang.module.ModuleDescriptor.Opens;
import java.lang.module.ModuleDescriptor.Provides;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What a module shows. To all: the API its two packages, others at most the package of their own name and the doors
 * that the ownership table names, and backends, adapters and applications nothing, since they are reached by service or
 * by command. Internal packages may be shown to applications by name, which is how benchmarks measure a part alone; and
 * the core shows adapters by name what they are written with.
 */
class ExportTest {

  /** JMH makes and reads its objects by reflection. */
  private static final Set<String> MAY_BE_OPEN = Set.of("io.orbitkv.benchmarks");

  private static final String SPI = "io.orbitkv.api.spi";
  private static final String ADAPTER_SERVICE = "io.orbitkv.core.agent.EngineAdapter";

  @TempDir
  Path temp;

  @Test
  void everyModuleHasTheNameOfItsFolderAndItsPackagesBeginWithIt() {
    assertThat(wrongNames(Build.here())).isEmpty();
  }

  @Test
  void noModuleShowsItsInternals() {
    assertThat(wrongExports(Build.here())).isEmpty();
  }

  @Test
  void servicesAreProvidedByBackendsAndAdaptersAndUsedByTheCoreAndApplications() {
    assertThat(wrongServices(Build.here())).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "io.orbitkv.api, io.orbitkv.api.wire, exports io.orbitkv.api.wire",
    "io.orbitkv.core, io.orbitkv.core.loop, exports io.orbitkv.core.loop",
    "io.orbitkv.core, io.orbitkv.core.loop, exports io.orbitkv.core.loop to io.orbitkv.backend.dram",
    "io.orbitkv.core, io.orbitkv.core.loop, exports io.orbitkv.core.loop to io.orbitkv.adapter.first",
    "io.orbitkv.core, io.orbitkv.core.wire, exports io.orbitkv.core.wire to io.orbitkv.backend.dram",
    "io.orbitkv.adapter.first, io.orbitkv.adapter.first, exports io.orbitkv.adapter.first",
    "io.orbitkv.backend.dram, io.orbitkv.backend.dram, exports io.orbitkv.backend.dram",
    "io.orbitkv.cli, io.orbitkv.cli, exports io.orbitkv.cli",
    "io.orbitkv.core, io.orbitkv.core, opens io.orbitkv.core",
    "io.orbitkv.cli, io.orbitkv.cli, opens io.orbitkv.cli"
  })
  void wrongExport_isFound(String module, String packageName, String directive) {
    Build build = new Plant(temp)
        .module(module, directive)
        .source(module, "package " + packageName + "; public class Inside {}")
        .compile();
    assertThat(wrongExports(build)).containsExactly(module + " " + directive);
  }

  @Test
  void openModule_isFound() {
    Build build = new Plant(temp).describe("io.orbitkv.cli", "open module io.orbitkv.cli {}").compile();
    assertThat(wrongExports(build)).containsExactly("io.orbitkv.cli is an open module");
  }

  @Test
  void packageOfAnotherName_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.core")
        .source("io.orbitkv.core", "package io.orbitkv.util; class Bits {}")
        .compile();
    assertThat(wrongNames(build)).containsExactly("io.orbitkv.core has package io.orbitkv.util");
  }

  @Test
  void moduleOfAnotherName_isFound() {
    BuiltModule core = new Plant(temp).module("io.orbitkv.other").compile().module("io.orbitkv.other").orElseThrow();
    BuiltModule named = new BuiltModule("io.orbitkv.core", core.sources(), core.classes(), core.testClasses());
    assertThat(wrongNames(new Build(List.of(named))))
        .containsExactly("io.orbitkv.core is called io.orbitkv.other in its descriptor");
  }

  @Test
  void providerOutsideABackend_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.core", "requires io.orbitkv.api",
            "provides io.orbitkv.api.spi.ResidencyPolicy with io.orbitkv.core.Fifo")
        .source("io.orbitkv.core", """
            package io.orbitkv.core;
            public class Fifo implements io.orbitkv.api.spi.ResidencyPolicy {
              public String name() { return "fifo"; }
              public io.orbitkv.api.spi.EvictionOrder open(io.orbitkv.api.spi.PolicyOptions options) { return null; }
            }
            """)
        .compile();
    assertThat(wrongServices(build)).containsExactly("io.orbitkv.core provides io.orbitkv.api.spi.ResidencyPolicy");
  }

  @Test
  void providerInAnApplication_isFound_unlessItServesALibrary() {
    String fifo = """
        package io.orbitkv.cli;
        public class Fifo implements io.orbitkv.api.spi.ResidencyPolicy, Runnable {
          public String name() { return "fifo"; }
          public io.orbitkv.api.spi.EvictionOrder open(io.orbitkv.api.spi.PolicyOptions options) { return null; }
          public void run() {}
        }
        """;
    Build build = new Plant(temp)
        .module("io.orbitkv.cli", "requires io.orbitkv.api", "provides java.lang.Runnable with io.orbitkv.cli.Fifo",
            "provides io.orbitkv.api.spi.ResidencyPolicy with io.orbitkv.cli.Fifo")
        .source("io.orbitkv.cli", fifo)
        .compile();
    assertThat(wrongServices(build)).containsExactly("io.orbitkv.cli provides io.orbitkv.api.spi.ResidencyPolicy");
  }

  @Test
  void serviceOutsideTheApi_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.backend.dram", "provides java.lang.Runnable with io.orbitkv.backend.dram.Task")
        .source("io.orbitkv.backend.dram",
            "package io.orbitkv.backend.dram; public class Task implements Runnable { public void run() {} }")
        .compile();
    assertThat(wrongServices(build)).containsExactly("io.orbitkv.backend.dram provides java.lang.Runnable");
  }

  @Test
  void backendOrAdapterThatProvidesNothing_isFound() {
    Build build = new Plant(temp).module("io.orbitkv.backend.dram").module("io.orbitkv.adapter.first").compile();
    assertThat(wrongServices(build)).containsExactlyInAnyOrder(
        "io.orbitkv.backend.dram provides nothing", "io.orbitkv.adapter.first provides nothing");
  }

  @Test
  void backendInAnAdapter_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.adapter.first", "requires io.orbitkv.api",
            "provides io.orbitkv.api.spi.ResidencyPolicy with io.orbitkv.adapter.first.Fifo")
        .source("io.orbitkv.adapter.first", """
            package io.orbitkv.adapter.first;
            public class Fifo implements io.orbitkv.api.spi.ResidencyPolicy {
              public String name() { return "fifo"; }
              public io.orbitkv.api.spi.EvictionOrder open(io.orbitkv.api.spi.PolicyOptions options) { return null; }
            }
            """)
        .compile();
    assertThat(wrongServices(build))
        .containsExactly("io.orbitkv.adapter.first provides io.orbitkv.api.spi.ResidencyPolicy");
  }

  @Test
  void backendThatLooksForBackends_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.backend.dram", "requires io.orbitkv.api", "uses io.orbitkv.api.spi.StorageBackend")
        .compile();
    assertThat(wrongServices(build)).contains("io.orbitkv.backend.dram uses io.orbitkv.api.spi.StorageBackend");
  }

  private static List<String> wrongNames(Build build) {
    List<String> wrong = new ArrayList<>();
    for (BuiltModule module : build.modules()) {
      String described = module.descriptor().name();
      if (!described.equals(module.name())) {
        wrong.add(module.name() + " is called " + described + " in its descriptor");
      }
      for (String packageName : module.packages()) {
        if (!(packageName + ".").startsWith(module.name() + ".")) {
          wrong.add(module.name() + " has package " + packageName);
        }
      }
    }
    return wrong;
  }

  private static List<String> wrongExports(Build build) {
    List<String> wrong = new ArrayList<>();
    for (ModuleDescriptor module : build.descriptors()) {
      if (module.modifiers().contains(Modifier.OPEN) && !MAY_BE_OPEN.contains(module.name())) {
        wrong.add(module.name() + " is an open module");
      }
      Set<String> shown = switch (OwnershipTable.kindOf(module.name())) {
        case API -> Set.of(module.name(), SPI);
        case CORE, OTHER -> OwnershipTable.doorsOf(module.name());
        case BACKEND, ADAPTER, APPLICATION -> Set.of();
      };
      for (Exports exports : module.exports()) {
        if (exports.isQualified() ? !isMeant(exports) : !shown.contains(exports.source())) {
          wrong.add(module.name() + " exports " + exports.source() + to(exports.targets()));
        }
      }
      for (Opens opens : module.opens()) {
        if (!opens.isQualified() || OwnershipTable.kindOf(module.name()) != OwnershipTable.Kind.APPLICATION) {
          wrong.add(module.name() + " opens " + opens.source() + to(opens.targets()));
        }
      }
    }
    return wrong;
  }

  private static boolean isMeant(Exports exports) {
    return exports.targets().stream().allMatch(target -> switch (OwnershipTable.kindOf(target)) {
      case APPLICATION -> true;
      case ADAPTER -> OwnershipTable.CORE_FOR_ADAPTERS.contains(exports.source());
      case API, CORE, BACKEND, OTHER -> false;
    });
  }

  private static String to(Set<String> targets) {
    return targets.isEmpty() ? "" : " to " + String.join(", ", targets);
  }

  private static List<String> wrongServices(Build build) {
    List<String> wrong = new ArrayList<>();
    for (ModuleDescriptor module : build.descriptors()) {
      OwnershipTable.Kind kind = OwnershipTable.kindOf(module.name());
      boolean provider = kind == OwnershipTable.Kind.BACKEND || kind == OwnershipTable.Kind.ADAPTER;
      if (provider && module.provides().isEmpty()) {
        wrong.add(module.name() + " provides nothing");
      }
      for (Provides provides : module.provides()) {
        if (!mayProvide(kind, provides.service())) {
          wrong.add(module.name() + " provides " + provides.service());
        }
      }
      for (String used : module.uses()) {
        if (kind != OwnershipTable.Kind.CORE && kind != OwnershipTable.Kind.APPLICATION) {
          wrong.add(module.name() + " uses " + used);
        }
      }
    }
    return wrong;
  }

  /** An application may also serve a library that it binds, as the log. */
  private static boolean mayProvide(OwnershipTable.Kind kind, String service) {
    return switch (kind) {
      case BACKEND -> service.startsWith(SPI + ".");
      case APPLICATION -> !OwnershipTable.isOurs(service);
      case ADAPTER -> service.equals(ADAPTER_SERVICE);
      case API, CORE, OTHER -> false;
    };
  }
}
