package io.orbitkv.arch;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.CompositeArchRule;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

/** A test that is switched off proves nothing and looks as if it did. */
class SkippedTestTest {

  private static final ArchRule NONE_SWITCHED_OFF = CompositeArchRule
      .of(noMethods().should().beAnnotatedWith(Disabled.class).allowEmptyShould(true))
      .and(noClasses().should().beAnnotatedWith(Disabled.class).allowEmptyShould(true));

  @Test
  void noTestIsSwitchedOff() {
    List<Path> tests =
        Build.here().modules().stream().map(BuiltModule::testClasses).filter(Files::isDirectory).toList();
    NONE_SWITCHED_OFF.check(new ClassFileImporter().importPaths(tests));
  }

  @Test
  void switchedOffTest_isFound() {
    assertThat(NONE_SWITCHED_OFF.evaluate(new ClassFileImporter().importClasses(Planted.class))
        .getFailureReport().getDetails()).singleElement().asString().contains("Planted.skipped()");
  }

  private static final class Planted {
    @Disabled
    @Test
    void skipped() {}
  }
}
