package io.orbitkv.core;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.DeviceBackend;
import io.orbitkv.api.spi.HostMemory;
import io.orbitkv.api.spi.ResidencyPolicy;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.core.agent.EngineAdapter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The providers that can be selected by name. Finding them opens nothing. Immutable.
 */
public final class Backends {

  private final Map<String, StorageBackend> storage = new TreeMap<>();
  private final Map<String, HostMemory> memory = new TreeMap<>();
  private final Map<String, ResidencyPolicy> policies = new TreeMap<>();
  private final Map<String, DeviceBackend> devices = new TreeMap<>();
  private final Map<String, EngineAdapter> adapters = new TreeMap<>();

  private Backends(List<ModuleLayer> layers) {
    collect(StorageBackend.class, StorageBackend::name, storage, load(layers, StorageBackend.class));
    collect(HostMemory.class, HostMemory::name, memory, load(layers, HostMemory.class));
    collect(ResidencyPolicy.class, ResidencyPolicy::name, policies, load(layers, ResidencyPolicy.class));
    collect(DeviceBackend.class, DeviceBackend::name, devices, load(layers, DeviceBackend.class));
    collect(EngineAdapter.class, EngineAdapter::name, adapters, load(layers, EngineAdapter.class));
  }

  /** Returns the providers of the modules that the program was started with. */
  public static Backends installed() {
    return new Backends(List.of());
  }

  /**
   * Returns the installed providers and those of further layers.
   *
   * @param layers layers of plugins
   * @throws RefusedException if two providers of one kind have one name, or a provider cannot be made
   */
  public static Backends in(List<ModuleLayer> layers) {
    return new Backends(layers);
  }

  /**
   * Returns the storage backend of a name.
   *
   * @throws RefusedException if there is none; the message has the names that there are
   */
  public StorageBackend storage(String name) {
    return require("storage backend", storage, name);
  }

  /** Returns the host memory of a name, as {@link #storage} does. */
  public HostMemory memory(String name) {
    return require("host memory", memory, name);
  }

  /** Returns the residency policy of a name, as {@link #storage} does. */
  public ResidencyPolicy policy(String name) {
    return require("residency policy", policies, name);
  }

  /** Returns the device backend of a name, as {@link #storage} does. */
  public DeviceBackend device(String name) {
    return require("device backend", devices, name);
  }

  /** Returns the engine adapter of a name, as {@link #storage} does. */
  public EngineAdapter adapter(String name) {
    return require("engine adapter", adapters, name);
  }

  /** Returns the names of storage backends in order. */
  public List<String> storageNames() {
    return List.copyOf(storage.keySet());
  }

  /** Returns the names of host memories in order. */
  public List<String> memoryNames() {
    return List.copyOf(memory.keySet());
  }

  /** Returns the names of residency policies in order. */
  public List<String> policyNames() {
    return List.copyOf(policies.keySet());
  }

  /** Returns the names of device backends in order. */
  public List<String> deviceNames() {
    return List.copyOf(devices.keySet());
  }

  /** Returns the names of engine adapters in order. */
  public List<String> adapterNames() {
    return List.copyOf(adapters.keySet());
  }

  /** The loaders are made by the caller, since a module may only load the services that it states to use. */
  private static <S> List<S> load(List<ModuleLayer> layers, Class<S> service) {
    List<S> providers = new ArrayList<>();
    try {
      ServiceLoader.load(service).forEach(providers::add);
      for (ModuleLayer layer : layers) {
        // A layer's loader also finds its parents' providers; those are here already.
        ServiceLoader.load(layer, service).stream()
            .filter(provider -> provider.type().getModule().getLayer() == layer)
            .forEach(provider -> providers.add(provider.get()));
      }
    } catch (ServiceConfigurationError e) {
      throw new RefusedException("a provider of " + service.getSimpleName() + " cannot be made: " + e.getMessage()
          + "; remove or repair its module", e);
    }
    return providers;
  }

  private static <S> void collect(
      Class<S> service, Function<S, String> name, Map<String, S> byName, List<S> providers) {
    for (S provider : providers) {
      S other = byName.putIfAbsent(name.apply(provider), provider);
      if (other != null) {
        throw new RefusedException("two providers of " + service.getSimpleName() + " are named '" + name.apply(provider)
            + "': " + other.getClass().getName() + " and " + provider.getClass().getName() + "; remove one");
      }
    }
  }

  private static <S> S require(String kind, Map<String, S> byName, String name) {
    S provider = byName.get(name);
    if (provider == null) {
      throw new RefusedException("there is no " + kind + " named '" + name + "'; there are " + byName.keySet());
    }
    return provider;
  }
}
