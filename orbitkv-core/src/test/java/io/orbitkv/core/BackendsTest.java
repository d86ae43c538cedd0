package io.orbitkv.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Cache;
import io.orbitkv.api.RefusedException;
import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Finds providers in modules that are compiled here, as plugins are. */
class BackendsTest {

  @TempDir
  Path folder;

  @Test
  void aNameThatThereIsNot_isRefusedWithTheNamesThatThereAre() throws Exception {
    Backends backends = Backends.in(List.of(
        layer("one", policy("tidy", "")), layer("two", policy("brisk", ""))));
    assertThat(backends.policyNames()).contains("brisk", "tidy").isSorted();
    assertThat(backends.policy("tidy").getClass().getModule().getName()).isEqualTo("one");
    assertThatThrownBy(() -> backends.policy("tydi")).isInstanceOf(RefusedException.class)
        .hasMessage("there is no residency policy named 'tydi'; there are " + backends.policyNames());
  }

  @Test
  void aKindWithoutProviders_saysSo() {
    Backends backends = Backends.installed();
    assertThat(backends.storageNames()).isEmpty();
    assertThatThrownBy(() -> backends.storage("io_uring")).isInstanceOf(RefusedException.class)
        .hasMessage("there is no storage backend named 'io_uring'; there are []");
    assertThatThrownBy(() -> backends.memory("privat")).isInstanceOf(RefusedException.class)
        .hasMessageContaining("host memory named 'privat'");
    assertThatThrownBy(() -> backends.device("cuda")).isInstanceOf(RefusedException.class)
        .hasMessageContaining("device backend named 'cuda'");
  }

  @Test
  void twoProvidersOfOneName_areRefusedByTheirClasses() throws Exception {
    List<ModuleLayer> layers = List.of(layer("one", policy("tidy", "")), layer("two", policy("tidy", "")));
    assertThatThrownBy(() -> Backends.in(layers)).isInstanceOf(RefusedException.class)
        .hasMessageContainingAll(
            "two providers of ResidencyPolicy are named 'tidy'", "one.Policy", "two.Policy", "remove one");
  }

  @Test
  void aProviderThatCannotBeMade_isRefusedWithTheReason() throws Exception {
    String throwing = "public Policy() { throw new IllegalStateException(); }";
    List<ModuleLayer> layers = List.of(layer("broken", policy("broken", throwing)));
    assertThatThrownBy(() -> Backends.in(layers)).isInstanceOf(RefusedException.class)
        .hasMessageContainingAll("ResidencyPolicy cannot be made", "broken.Policy", "remove or repair its module");
  }

  @Test
  void findingProviders_opensNone() throws Exception {
    // Its open() throws; finding and naming it must not reach that.
    Backends backends = Backends.in(List.of(layer("one", policy("tidy", ""))));
    assertThatThrownBy(() -> backends.policy("tidy").open(null)).hasMessage("opened");
  }

  /** The source of a policy, in a package named after its module. */
  private static String policy(String name, String constructor) {
    return """
        public final class Policy implements io.orbitkv.api.spi.ResidencyPolicy {
          %s
          public String name() {
            return "%s";
          }
          public io.orbitkv.api.spi.EvictionOrder open(io.orbitkv.api.spi.PolicyOptions options) {
            throw new UnsupportedOperationException("opened");
          }
        }
        """.formatted(constructor, name);
  }

  private ModuleLayer layer(String module, String policy) throws IOException, URISyntaxException {
    Path sources = Files.createDirectories(folder.resolve("src-" + module));
    Path classes = folder.resolve("classes-" + module);
    Path descriptor = Files.writeString(sources.resolve("module-info.java"), """
        module %s {
          requires io.orbitkv.api;
          provides io.orbitkv.api.spi.ResidencyPolicy with %s.Policy;
        }
        """.formatted(module, module));
    Path provider = Files.writeString(sources.resolve("Policy.java"), "package " + module + ";\n" + policy);
    Javac.compile(List.of("--module-path", Javac.placeOf(Cache.class), "-d", classes.toString(),
        descriptor.toString(), provider.toString()));
    ModuleLayer boot = ModuleLayer.boot();
    Configuration configuration =
        boot.configuration().resolve(ModuleFinder.of(classes), ModuleFinder.of(), Set.of(module));
    return boot.defineModulesWithOneLoader(configuration, ClassLoader.getSystemClassLoader());
  }
}
