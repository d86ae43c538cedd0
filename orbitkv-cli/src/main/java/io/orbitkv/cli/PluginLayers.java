package io.orbitkv.cli;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.DeviceBackend;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.ResidencyPolicy;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.core.agent.EngineAdapter;
import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.FindException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.lang.module.ResolutionException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads plugins. Each jar of a folder, and each folder in it with its jars, becomes a {@link ModuleLayer} of its own,
 * so that plugins may bring different versions of a library, and none sees another. No class of a plugin is loaded
 * before its backend is looked up.
 *
 * <p>A plugin that cannot be loaded is refused and nothing starts: a backend that an operator put there and that is
 * silently absent would be found out much later.
 */
final class PluginLayers {

  private static final Set<String> SERVICES = Set.of(
      StorageBackend.class.getName(),
      HostMemory.class.getName(),
      ResidencyPolicy.class.getName(),
      DeviceBackend.class.getName(),
      EngineAdapter.class.getName());

  private PluginLayers() {}

  /** Returns the folder 'plugins' beside the one that this module's jar lies in, if there is one. */
  static Optional<Path> defaultDirectory() {
    ModuleLayer layer = PluginLayers.class.getModule().getLayer();
    return layer.configuration()
        .findModule(PluginLayers.class.getModule().getName())
        .flatMap(module -> module.reference().location())
        .map(PluginLayers::pluginsBeside)
        .filter(Files::isDirectory);
  }

  /**
   * Makes a layer of every plugin of a folder, in the order of their names.
   *
   * @param directory the folder; files in it that are not jars are passed over
   * @return the layers
   * @throws RefusedException if the folder cannot be read or a plugin cannot be loaded; the message names it
   */
  static List<ModuleLayer> load(Path directory) {
    if (!Files.isDirectory(directory)) {
      throw new RefusedException("plugins folder '" + directory + "' is not a folder");
    }
    ModuleLayer application = PluginLayers.class.getModule().getLayer();
    List<ModuleLayer> layers = new ArrayList<>();
    for (Path plugin : plugins(directory)) {
      layers.add(layer(plugin, application));
    }
    return layers;
  }

  private static List<Path> plugins(Path directory) {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.filter(entry -> Files.isDirectory(entry) || entry.toString().endsWith(".jar")).sorted().toList();
    } catch (IOException e) {
      throw new RefusedException("plugins folder '" + directory + "' cannot be read: " + e.getMessage(), e);
    }
  }

  private static ModuleLayer layer(Path plugin, ModuleLayer parent) {
    try {
      ModuleFinder finder = ModuleFinder.of(plugin);
      Set<ModuleReference> modules = finder.findAll();
      if (modules.stream().map(ModuleReference::descriptor).noneMatch(PluginLayers::isPlugin)) {
        throw new RefusedException("plugin '" + plugin + "' provides no backend and no engine adapter; expected a"
            + " module that provides one of " + SERVICES.stream().sorted().collect(Collectors.joining(", ")));
      }
      Set<String> roots = modules.stream().map(module -> module.descriptor().name()).collect(Collectors.toSet());
      Configuration configuration = parent.configuration().resolve(finder, ModuleFinder.of(), roots);
      return parent.defineModulesWithOneLoader(configuration, PluginLayers.class.getClassLoader());
    } catch (FindException | ResolutionException | LayerInstantiationException e) {
      throw new RefusedException("plugin '" + plugin + "' cannot be loaded: " + e.getMessage()
          + "; mend it or take it out of the folder", e);
    }
  }

  private static boolean isPlugin(ModuleDescriptor module) {
    return module.provides().stream().map(ModuleDescriptor.Provides::service).anyMatch(SERVICES::contains);
  }

  private static Path pluginsBeside(URI module) {
    Path folder = Path.of(module).toAbsolutePath().getParent();
    return folder.resolveSibling("plugins");
  }
}
