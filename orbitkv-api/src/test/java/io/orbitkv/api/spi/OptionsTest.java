package io.orbitkv.api.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OptionsTest {

  private static final Path FOLDER = Path.of("folder");

  @Test
  void nothingToHold_isRefused() {
    assertThatThrownBy(() -> new MemoryOptions(0, FOLDER, Map.of()))
        .isInstanceOf(RefusedException.class).hasMessage("memory capacity is 0 bytes, expected more than zero");
    assertThatThrownBy(() -> new StoreOptions(FOLDER, -1, Map.of()))
        .isInstanceOf(RefusedException.class).hasMessage("store capacity is -1 bytes, expected more than zero");
    assertThatThrownBy(() -> new PolicyOptions(0, 1, Map.of()))
        .isInstanceOf(RefusedException.class).hasMessage("policy capacity is 0 blocks, expected at least 1");
  }

  @Test
  void settings_areCopied() {
    Map<String, String> settings = new HashMap<>(Map.of("mode", "ring"));
    StoreOptions options = new StoreOptions(FOLDER, 1, settings);
    settings.put("mode", "channel");
    assertThat(options.settings()).containsExactly(Map.entry("mode", "ring"));
  }
}
