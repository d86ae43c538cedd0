package io.orbitkv.arch;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.lang.ArchRule;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A name says what a class is. These say only that its author had no place for it. */
class NamingTest {

  private static final ArchRule NO_EMPTY_NAMES = noClasses()
      .should().haveNameMatching(".*(Utils?|Helpers?|Impl|Misc|Manager\\d+)").allowEmptyShould(true);

  @TempDir
  Path temp;

  @Test
  void namesSayWhatAClassIs() {
    NO_EMPTY_NAMES.check(Build.here().classes());
  }

  @ParameterizedTest
  @ValueSource(strings = {"BlockUtil", "BlockUtils", "LeaseHelper", "TicketHelpers", "SessionImpl", "Misc", "Manager2"})
  void emptyName_isFound(String name) {
    Build build = new Plant(temp)
        .module("io.orbitkv.core")
        .source("io.orbitkv.core", "package io.orbitkv.core; class " + name + " {}")
        .compile();
    assertThat(NO_EMPTY_NAMES.evaluate(build.classes()).getFailureReport().getDetails())
        .singleElement().asString().contains("io.orbitkv.core." + name);
  }
}
