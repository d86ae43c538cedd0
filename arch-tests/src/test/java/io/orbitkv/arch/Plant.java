package io.orbitkv.arch;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Modules written and compiled to violate a rule. They see this repository's API module, unless they replace it, and no
 * other.
 */
final class Plant {

  private static final Pattern PACKAGE = Pattern.compile("package ([\\w.]+);");
  private static final Pattern TYPE = Pattern.compile("(?:class|interface|record|enum) (\\w+)");
  private static final String API = "io.orbitkv.api";

  private final Path root;
  private final Set<String> modules = new TreeSet<>();
  private final List<Path> sources = new ArrayList<>();

  Plant(Path root) {
    this.root = root;
  }

  /** Adds a module with a descriptor of these directives. */
  Plant module(String module, String... directives) {
    String body = Stream.of(directives).map(directive -> "  " + directive + ";\n").collect(Collectors.joining());
    return describe(module, "/** Planted. */\nmodule " + module + " {\n" + body + "}\n");
  }

  /** Adds a module with the whole text of its descriptor. */
  Plant describe(String module, String descriptor) {
    modules.add(module);
    write(module, "module-info.java", descriptor);
    return this;
  }

  /** Adds a source file to a module; its place follows from its package and its first type. */
  Plant source(String module, String text) {
    Matcher inPackage = PACKAGE.matcher(text);
    Matcher type = TYPE.matcher(text);
    if (!inPackage.find()) {
      throw new IllegalArgumentException("planted source states no package: " + text);
    }
    String name = type.find(inPackage.end()) ? type.group(1) : "package-info";
    write(module, inPackage.group(1).replace('.', '/') + "/" + name + ".java", text);
    return this;
  }

  /** Compiles what was planted. */
  Build compile() {
    List<BuiltModule> built = new ArrayList<>();
    BuiltModule api = Build.here().module(API).orElseThrow();
    if (!modules.contains(API)) {
      built.add(api);
    }
    compile(List.of("--module-source-path", root + "/*/src/main/java", "--module-path", api.classes().toString(),
        "-d", root.resolve("classes").toString()));
    for (String module : modules) {
      built.add(new BuiltModule(
          module, sourcesOf(module), root.resolve("classes").resolve(module), root.resolve("no-test-classes")));
    }
    return new Build(built);
  }

  private void compile(List<String> options) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter complaints = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      if (!compiler.getTask(
          complaints, files, null, options, null, files.getJavaFileObjectsFromPaths(sources)).call()) {
        throw new IllegalStateException("planted sources do not compile:\n" + complaints);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(String module, String file, String text) {
    try {
      Path path = sourcesOf(module).resolve(file);
      Files.createDirectories(path.getParent());
      Files.writeString(path, text);
      sources.add(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path sourcesOf(String module) {
    return root.resolve(module).resolve("src/main/java");
  }
}
