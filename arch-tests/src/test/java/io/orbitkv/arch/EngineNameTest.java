package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An engine is named by its adapter and by applications, in no identifier and no string of any other module. The core's
 * descriptor alone names adapters: those that it shows its messages to.
 */
class EngineNameTest {

  private static final Pattern ENGINE = Pattern.compile("vllm|sglang", Pattern.CASE_INSENSITIVE);

  @TempDir
  Path temp;

  @Test
  void enginesAreNamedByTheirAdapters() {
    assertThat(engineNames(Build.here())).isEmpty();
  }

  @Test
  void engineInAString_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.core")
        .source("io.orbitkv.core", """
            package io.orbitkv.core;
            class Loop { boolean special(String engine) { return engine.equals("vLLM"); } }
            """)
        .compile();
    assertThat(engineNames(build)).containsExactly("io.orbitkv.core, io/orbitkv/core/Loop.class: vLLM");
  }

  private static List<String> engineNames(Build build) {
    List<String> found = new ArrayList<>();
    for (BuiltModule module : build.modules()) {
      boolean mayName = switch (OwnershipTable.kindOf(module.name())) {
        case ADAPTER, APPLICATION, OTHER -> true;
        case API, CORE, BACKEND -> false;
      };
      if (!mayName) {
        for (Path file : BuiltModule.files(module.classes(), ".class")) {
          Set<String> shownTo = file.endsWith("module-info.class") ? adapters(module) : Set.of();
          for (PoolEntry entry : constantPool(file)) {
            if (entry instanceof Utf8Entry text && ENGINE.matcher(text.stringValue()).find()
                && !shownTo.contains(text.stringValue())) {
              found.add(module.name() + ", " + module.classes().relativize(file) + ": " + text.stringValue());
            }
          }
        }
      }
    }
    return found;
  }

  /** Returns the adapters that a module exports packages to. */
  private static Set<String> adapters(BuiltModule module) {
    return module.descriptor().exports().stream()
        .flatMap(exports -> exports.targets().stream())
        .filter(target -> OwnershipTable.kindOf(target) == OwnershipTable.Kind.ADAPTER)
        .collect(Collectors.toSet());
  }

  private static Iterable<PoolEntry> constantPool(Path file) {
    try {
      return ClassFile.of().parse(file).constantPool();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
