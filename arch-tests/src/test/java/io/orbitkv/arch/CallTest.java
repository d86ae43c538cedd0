package io.orbitkv.arch;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.conditions.ArchConditions.accessTargetWhere;
import static com.tngtech.archunit.lang.conditions.ArchConditions.be;
import static com.tngtech.archunit.lang.conditions.ArchConditions.dependOnClassesThat;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.lang.ArchRule;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What code may not call or declare, and the few modules that may. */
class CallTest {

  private static final String CORE = "io.orbitkv.core";
  private static final String COMMAND = "io.orbitkv.cli";
  private static final String BENCHMARKS = "io.orbitkv.benchmarks";
  private static final String RING = "io.orbitkv.backend.iouring";
  private static final String CUDA = "io.orbitkv.backend.gpu.cuda";
  private static final String ARENA = "io.orbitkv.backend.dram";

  /** A rule, a member that breaks it, and the modules in which it may stand. */
  enum Rule {
    NATIVE_LIBRARIES_ARE_LOADED_BY_THEIR_OWNER(
        access("java.lang.(System|Runtime)#(load|loadLibrary)"),
        "void planted() { System.loadLibrary(\"planted\"); }", RING, CUDA),

    NATIVE_LIBRARIES_ARE_LOADED_BY_THEIR_OWNER_ALSO_BY_REFERENCE(
        access("java.lang.(System|Runtime)#(load|loadLibrary)"),
        "java.util.function.Consumer<String> planted = System::load;", RING, CUDA),

    NATIVE_METHODS_ARE_DECLARED_BY_THEIR_OWNER(
        declare(describe("native", method -> method.getModifiers().contains(JavaModifier.NATIVE))),
        "native void planted();", RING, CUDA),

    /** The arena asks the kernel for huge pages and for room on tmpfs, for which the JDK has no method. */
    FOREIGN_FUNCTIONS_ARE_LINKED_BY_THE_ARENA_ALONE(
        dependOn("java.lang.foreign.(Linker|SymbolLookup)"),
        "Object planted() { return java.lang.foreign.Linker.nativeLinker(); }", ARENA),

    NOTHING_IS_TAKEN_FROM_INSIDE_THE_JDK(
        dependOn("(sun|jdk.internal)\\..*"),
        "sun.misc.Unsafe planted;"),

    NOTHING_IS_REACHED_BY_REFLECTION(
        dependOn("java.lang.reflect\\..*"),
        "Object planted() { return java.lang.reflect.Array.newInstance(int.class, 1); }"),

    NOTHING_IS_LOOKED_UP_BY_NAME(
        access("java.lang.Class#(forName|newInstance|get(Declared|Record)?(Constructor|Method|Field|Component)s?)"
            + "|.*ClassLoader#(loadClass|defineClass)"
            + "|java.lang.invoke.MethodHandles#privateLookupIn"),
        "Object planted() throws Exception { return Class.forName(\"planted\"); }"),

    /** A device ends the process when nobody can tell any more whether it still writes to memory. */
    THE_PROCESS_BELONGS_TO_THE_COMMAND(
        access("java.lang.System#(exit|setProperty|clearProperty|setOut|setErr|setIn)"
            + "|java.lang.Runtime#(exit|halt|addShutdownHook)"
            + "|java.lang.Thread#setDefaultUncaughtExceptionHandler"),
        "void planted() { System.exit(1); }", COMMAND, CUDA),

    THE_CONSOLE_BELONGS_TO_APPLICATIONS(
        access("java.lang.System#(out|err|in|console)|java.lang.IO#.*|.*#printStackTrace"),
        "void planted() { System.out.println(); }", COMMAND, BENCHMARKS),

    STACK_TRACES_ARE_PRINTED_BY_APPLICATIONS_ALONE(
        access("java.lang.System#(out|err|in|console)|java.lang.IO#.*|.*#printStackTrace"),
        "void planted(Exception e) { e.printStackTrace(); }", COMMAND, BENCHMARKS),

    LIBRARIES_LOG_THROUGH_SYSTEM_LOGGER(
        dependOn("java.util.logging\\..*"),
        "Object planted() { return java.util.logging.Logger.getGlobal(); }", COMMAND),

    NOTHING_IS_FINALIZED(
        declare(describe("a finalizer", method -> method.getName().equals("finalize"))),
        "protected void finalize() {}");

    private final ArchRule rule;
    private final String planted;
    private final List<String> owners;

    Rule(Function<DescribedPredicate<JavaClass>, ArchRule> forEveryoneElse, String planted, String... owners) {
      this.planted = planted;
      this.owners = List.of(owners);
      this.rule = forEveryoneElse.apply(areNotIn(this.owners)).allowEmptyShould(true);
    }

    private static Function<DescribedPredicate<JavaClass>, ArchRule> access(String member) {
      Pattern pattern = Pattern.compile(member);
      return classes -> noClasses().that(classes).should(accessTargetWhere(
          describe("target matches " + member, (JavaAccess<?> access) ->
              pattern.matcher(access.getTargetOwner().getName() + "#" + access.getTarget().getName()).matches())));
    }

    private static Function<DescribedPredicate<JavaClass>, ArchRule> dependOn(String type) {
      Pattern pattern = Pattern.compile(type);
      return classes -> noClasses().that(classes).should(dependOnClassesThat(
          describe("match " + type, (JavaClass target) ->
              pattern.matcher(target.getBaseComponentType().getName()).matches())));
    }

    private static Function<DescribedPredicate<JavaClass>, ArchRule> declare(DescribedPredicate<JavaMethod> method) {
      return classes -> noMethods().that().areDeclaredInClassesThat(classes).should(be(method));
    }

    private static DescribedPredicate<JavaClass> areNotIn(List<String> modules) {
      return describe("are not in " + modules, type ->
          modules.stream().noneMatch(module -> (type.getPackageName() + ".").startsWith(module + ".")));
    }
  }

  private static Build planted;

  /** Every member, in every module that owns something and in one that owns nothing. */
  @BeforeAll
  static void plant(@TempDir Path temp) {
    Plant plant = new Plant(temp);
    for (String module : List.of(CORE, RING, ARENA, COMMAND, BENCHMARKS)) {
      plant.module(module, "requires java.logging", "requires jdk.unsupported");
      for (Rule rule : Rule.values()) {
        plant.source(module, "package " + module + "; class " + rule + " { " + rule.planted + " }");
      }
    }
    planted = plant.compile();
  }

  @ParameterizedTest
  @EnumSource
  void isKept(Rule rule) {
    rule.rule.check(Build.here().classes());
  }

  @ParameterizedTest
  @EnumSource
  void violation_isFound(Rule rule) {
    assertThat(foundIn(CORE, rule)).isNotEmpty();
  }

  @ParameterizedTest
  @MethodSource("rulesWithOwners")
  void owner_isFree(Rule rule) {
    assertThat(rule.owners).allSatisfy(owner -> assertThat(foundIn(owner, rule)).isEmpty());
  }

  static Stream<Rule> rulesWithOwners() {
    return Stream.of(Rule.values()).filter(rule -> !rule.owners.isEmpty());
  }

  private static List<String> foundIn(String module, Rule rule) {
    return rule.rule.evaluate(planted.classes()).getFailureReport().getDetails().stream()
        .filter(Pattern.compile(Pattern.quote(module + "." + rule) + "[.>]").asPredicate())
        .toList();
  }
}
