package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.core.Backends;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PluginLayersTest {

  @TempDir
  private Path folder;

  @TempDir
  private Path elsewhere;

  @Test
  void load_findsAPluginByItsName() throws IOException {
    PluginBuild.jar("first-in-first-out", folder.resolve("fifo.jar"));
    Files.writeString(folder.resolve("README"), "not a plugin");

    Backends backends = Backends.in(PluginLayers.load(folder));

    assertThat(backends.policyNames()).contains("fifo").containsAll(Backends.installed().policyNames());
    EvictionOrder order = backends.policy("fifo").open(new PolicyOptions(8, 1, Map.of()));
    order.inserted(0, EvictionOrder.NONE, 0);
    order.inserted(1, EvictionOrder.NONE, 1);
    order.released(1);
    order.released(0);
    order.used(0);
    assertThat(order.victim()).isZero();
  }

  @Test
  void load_givesEveryPluginALayerOfItsOwn() throws IOException {
    Path jar = PluginBuild.jar("first-in-first-out", elsewhere.resolve("fifo.jar"));
    Files.copy(jar, folder.resolve("a.jar"));
    // A folder in the folder is one plugin too, with its libraries beside it.
    Files.createDirectory(folder.resolve("b"));
    Files.copy(jar, folder.resolve("b").resolve("fifo.jar"));

    List<ModuleLayer> layers = PluginLayers.load(folder);

    assertThat(layers).hasSize(2).doesNotHaveDuplicates();
    assertThat(layers).allSatisfy(layer -> assertThat(layer.modules()).extracting(Module::getName)
        .containsExactly("io.example.fifo"));
    assertThatThrownBy(() -> Backends.in(layers))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("named 'fifo'");
  }

  @Test
  void load_namesAJarThatIsBroken() throws IOException {
    byte[] jar = Files.readAllBytes(PluginBuild.jar("first-in-first-out", elsewhere.resolve("fifo.jar")));
    Files.write(folder.resolve("broken.jar"), Arrays.copyOf(jar, jar.length / 2));

    assertThatThrownBy(() -> PluginLayers.load(folder))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("broken.jar' cannot be loaded")
        .hasMessageContaining("mend it or take it out of the folder");
  }

  @Test
  void load_namesAPluginThatMissesAModule() throws IOException {
    Path library = PluginBuild.jar("absent", elsewhere.resolve("absent.jar"));
    PluginBuild.jar("needs-absent", folder.resolve("needy.jar"), library);

    assertThatThrownBy(() -> PluginLayers.load(folder))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("needy.jar' cannot be loaded")
        .hasMessageContaining("io.example.absent");
  }

  @Test
  void load_refusesAJarWithoutABackend() throws IOException {
    PluginBuild.jar("no-backend", folder.resolve("nothing.jar"));

    assertThatThrownBy(() -> PluginLayers.load(folder))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("nothing.jar' provides no backend")
        .hasMessageContaining("io.orbitkv.api.spi.StorageBackend");
  }

  @Test
  void load_refusesAFolderThatIsNotThere() {
    assertThatThrownBy(() -> PluginLayers.load(folder.resolve("absent")))
        .isInstanceOf(RefusedException.class)
        .hasMessageEndingWith("absent' is not a folder");
  }
}
