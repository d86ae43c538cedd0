package io.orbitkv.arch;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.lang.ArchRule;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Packages depend on each other in one direction, inside a module and across modules. */
class CycleTest {

  private static final ArchRule NO_CYCLES = slices().matching("io.orbitkv.(**)").should().beFreeOfCycles();

  @TempDir
  Path temp;

  @Test
  void noPackagesDependOnEachOther() {
    NO_CYCLES.check(Build.here().classes());
  }

  @Test
  void cycleInsideAModule_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.core")
        .source("io.orbitkv.core", "package io.orbitkv.core.one; public class First { io.orbitkv.core.two.Next next; }")
        .source("io.orbitkv.core", "package io.orbitkv.core.two; public class Next { io.orbitkv.core.Last last; }")
        .source("io.orbitkv.core", "package io.orbitkv.core; public class Last { io.orbitkv.core.one.First first; }")
        .compile();
    assertThat(NO_CYCLES.evaluate(build.classes()).getFailureReport().getDetails()).singleElement().asString()
        .contains("Slice core ->", "Slice core.one ->", "Slice core.two");
  }
}
