package io.orbitkv.cli;

import io.orbitkv.core.Backends;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Where backends that do not come with the command are found. */
final class PluginOptions {

  @Option(names = "--plugins", paramLabel = "DIR",
      description = "Folder of plugins: every jar, and every folder of jars, is loaded as a module layer of its own. "
          + "Default: 'plugins' beside the application's 'modules' folder, if there is one.")
  private Path directory;

  Backends backends() {
    Optional<Path> folder = Optional.ofNullable(directory).or(PluginLayers::defaultDirectory);
    return folder.map(path -> Backends.in(PluginLayers.load(path))).orElseGet(Backends::installed);
  }
}
