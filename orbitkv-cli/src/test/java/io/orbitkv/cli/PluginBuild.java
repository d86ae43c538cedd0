package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.spi.ResidencyPolicy;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Builds the plugins that tests drop in, as their authors would: against the API alone. */
public final class PluginBuild {

  private static final Path SOURCES = Path.of("src", "test", "plugins");

  private PluginBuild() {}

  /** Compiles a plugin's sources against the API and some more modules, and packs them. */
  public static Path jar(String plugin, Path jar, Path... libraries) throws IOException {
    String modulePath = Stream.concat(Stream.of(api()), Arrays.stream(libraries))
        .map(Path::toString)
        .collect(Collectors.joining(File.pathSeparator));
    Path classes = jar.resolveSibling(jar.getFileName() + ".classes");
    List<String> arguments = new ArrayList<>(List.of("--module-path", modulePath, "-d", classes.toString()));
    try (Stream<Path> sources = Files.walk(SOURCES.resolve(plugin))) {
      sources.filter(source -> source.toString().endsWith(".java")).map(Path::toString).forEach(arguments::add);
    }
    run("javac", arguments.toArray(String[]::new));
    run("jar", "--create", "--file", jar.toString(), "-C", classes.toString(), ".");
    ScratchFolder.remove(classes);
    return jar;
  }

  private static Path api() {
    Module api = ResidencyPolicy.class.getModule();
    return Path.of(api.getLayer().configuration().findModule(api.getName()).orElseThrow()
        .reference().location().orElseThrow());
  }

  private static void run(String tool, String... arguments) {
    StringWriter said = new StringWriter();
    PrintWriter writer = new PrintWriter(said);
    int exitCode = ToolProvider.findFirst(tool).orElseThrow().run(writer, writer, arguments);
    assertThat(exitCode).as("%s %s said: %s", tool, Arrays.toString(arguments), said).isZero();
  }
}
