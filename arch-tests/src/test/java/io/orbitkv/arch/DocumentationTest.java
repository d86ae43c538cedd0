package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every module says in a sentence what it is, every package what it owns and what it must not touch. */
class DocumentationTest {

  private static final Pattern DESCRIBED_MODULE =
      Pattern.compile("(?s).*/\\*\\*.+\\*/\\s*(@SuppressWarnings\\(\"module\"\\) )?(open )?module .*");
  private static final Pattern DESCRIBED_PACKAGE =
      Pattern.compile("(?s).*/\\*\\*.+Owns: .+Must not touch: .+\\*/.*package .*");

  @TempDir
  Path temp;

  @Test
  void modulesAndPackagesSayWhatTheyOwn() {
    assertThat(undocumented(Build.here())).isEmpty();
  }

  @Test
  void packageWithoutItsInfo_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.core")
        .source("io.orbitkv.core", "package io.orbitkv.core.loop; class Loop {}")
        .compile();
    assertThat(undocumented(build))
        .containsExactly("io.orbitkv.core: io/orbitkv/core/loop/package-info.java is missing");
  }

  @Test
  void packageThatDoesNotSayWhatItOwns_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.core")
        .source("io.orbitkv.core", "/** The loop. */ package io.orbitkv.core.loop;")
        .source("io.orbitkv.core", "package io.orbitkv.core.loop; class Loop {}")
        .compile();
    assertThat(undocumented(build)).containsExactly("io.orbitkv.core: io/orbitkv/core/loop/package-info.java does not"
        + " say \"Owns: ...\" and \"Must not touch: ...\"");
  }

  @Test
  void moduleWithoutAWord_isFound() {
    Build build = new Plant(temp).describe("io.orbitkv.core", "module io.orbitkv.core {}").compile();
    assertThat(undocumented(build)).containsExactly("io.orbitkv.core: module-info.java has no Javadoc");
  }

  private static List<String> undocumented(Build build) {
    List<String> wrong = new ArrayList<>();
    for (BuiltModule module : build.modules()) {
      Set<Path> packages = new TreeSet<>();
      for (Path file : BuiltModule.files(module.sources(), ".java")) {
        packages.add(module.sources().relativize(file.getParent()));
      }
      for (Path folder : packages) {
        boolean isRoot = folder.toString().isEmpty();
        Path info = folder.resolve(isRoot ? "module-info.java" : "package-info.java");
        String text = read(module.sources().resolve(info));
        if (text.isEmpty()) {
          wrong.add(module.name() + ": " + info + " is missing");
        } else if (isRoot && !DESCRIBED_MODULE.matcher(text).matches()) {
          wrong.add(module.name() + ": " + info + " has no Javadoc");
        } else if (!isRoot && !DESCRIBED_PACKAGE.matcher(text).matches()) {
          wrong.add(module.name() + ": " + info + " does not say \"Owns: ...\" and \"Must not touch: ...\"");
        }
      }
    }
    return wrong;
  }

  /** Reads a file in one line, without the asterisks of its comments; nothing if it does not exist. */
  private static String read(Path file) {
    try {
      return Files.exists(file) ? Files.readString(file).replaceAll("\\s*\n\\s*(\\*(?!/)\\s*)?", " ") : "";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
