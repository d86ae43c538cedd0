package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The rules see every module, also one that was added today. */
class BuildTest {

  @Test
  void everyModuleIsSeen() {
    assertThat(Build.here().modules()).extracting(BuiltModule::name).contains(
        "io.orbitkv.api", "io.orbitkv.core", "io.orbitkv.backend.dram", "io.orbitkv.backend.iouring", "io.orbitkv.cli",
        "io.orbitkv.benchmarks");
    assertThat(Build.here().modules()).allSatisfy(module -> assertThat(module.packages()).isNotEmpty());
  }

  @Test
  void moduleThatTheseTestsDoNotDependOn_isFound(@TempDir Path temp) throws IOException {
    Path root = Files.writeString(temp.resolve("root.xml"), """
        <project><modules>
          <module>orbitkv-api</module> <module>backend-next</module> <module>arch-tests</module>
        </modules></project>
        """);
    Path tests = Files.writeString(temp.resolve("tests.xml"), """
        <project><artifactId>arch-tests</artifactId>
          <dependencies><dependency><artifactId>orbitkv-api</artifactId></dependency></dependencies>
        </project>
        """);
    assertThat(Build.modulesBuiltTooLate(root, tests)).containsExactly("backend-next");
  }
}
