package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Modules depend on what the ownership table grants them, by what they require and by what their code touches. */
class DependencyTest {

  @TempDir
  Path temp;

  @Test
  void everyModuleRequiresOnlyWhatTheTableGrants() {
    assertThat(wrongRequires(Build.here())).isEmpty();
  }

  @Test
  void everyClassTouchesOnlyWhatTheTableGrants() {
    assertThat(wrongAccesses(Build.here())).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "io.orbitkv.api, java.logging",
    "io.orbitkv.api, io.orbitkv.core",
    "io.orbitkv.core, io.orbitkv.backend.dram",
    "io.orbitkv.core, com.github.benmanes.caffeine",
    "io.orbitkv.core, jdk.unsupported",
    "io.orbitkv.backend.dram, io.orbitkv.core",
    "io.orbitkv.backend.dram, io.orbitkv.backend.iouring",
    "io.orbitkv.backend.iouring, com.github.benmanes.caffeine",
    "io.orbitkv.backend.next, io.orbitkv.backend.dram",
    "io.orbitkv.adapter.first, io.orbitkv.adapter.second",
    "io.orbitkv.adapter.first, io.orbitkv.backend.dram",
    "io.orbitkv.cli, io.orbitkv.adapter.first",
    "io.orbitkv.benchmarks, io.orbitkv.adapter.first",
    "io.orbitkv.core, io.orbitkv.adapter.first",
    "io.orbitkv.unheardof, io.orbitkv.core",
    "io.orbitkv.benchmarks, io.orbitkv.cli",
    "io.orbitkv.core, io.orbitkv.cli"
  })
  void wrongRequires_isFound(String module, String target) {
    Plant plant = new Plant(temp).module(module, "requires " + target);
    if (!target.startsWith("java.") && !target.startsWith("jdk.")) {
      plant.module(target);
    }
    assertThat(wrongRequires(plant.compile())).containsExactly(module + " requires " + target);
  }

  @Test
  void wrongAccess_throughATransitiveRequirement_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.backend.dram", "exports io.orbitkv.backend.dram")
        .source("io.orbitkv.backend.dram", "package io.orbitkv.backend.dram; public class Arena {}")
        .module("io.orbitkv.unheardof", "requires transitive io.orbitkv.backend.dram")
        .module("io.orbitkv.core", "requires io.orbitkv.unheardof")
        .source("io.orbitkv.core", "package io.orbitkv.core; class Loop { io.orbitkv.backend.dram.Arena arena; }")
        .compile();
    assertThat(wrongAccesses(build)).singleElement().asString()
        .startsWith("io.orbitkv.core touches io.orbitkv.backend.dram: Field <io.orbitkv.core.Loop.arena>");
  }

  private static List<String> wrongRequires(Build build) {
    List<String> wrong = new ArrayList<>();
    for (ModuleDescriptor module : build.descriptors()) {
      for (ModuleDescriptor.Requires requires : module.requires()) {
        if (!OwnershipTable.mayDependOn(module.name(), requires.name())) {
          wrong.add(module.name() + " requires " + requires.name());
        }
      }
    }
    return wrong;
  }

  private static List<String> wrongAccesses(Build build) {
    List<String> wrong = new ArrayList<>();
    for (JavaClass type : build.classes()) {
      String module = build.moduleOf(type.getPackageName()).orElseThrow();
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        JavaClass target = dependency.getTargetClass().getBaseComponentType();
        String targetModule = target.isPrimitive()
            ? "java.base"
            : build.moduleOf(target.getPackageName()).orElse("unknown module of " + target.getName());
        if (!OwnershipTable.mayDependOn(module, targetModule)) {
          wrong.add(module + " touches " + targetModule + ": " + dependency.getDescription());
        }
      }
    }
    return wrong;
  }
}
