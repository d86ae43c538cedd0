package io.orbitkv.pd.composition.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** Words of a command line, one after another. */
final class CommandLine {

  private final List<String> words = new ArrayList<>();

  CommandLine(String... first) {
    words.addAll(List.of(first));
  }

  CommandLine option(String name, String value) {
    words.add(name);
    words.add(value);
    return this;
  }

  CommandLine option(String name, int value) {
    return option(name, Integer.toString(value));
  }

  /** Adds settings as JSON, whose values are texts, whole numbers, booleans, lists and maps of such. */
  CommandLine option(String name, Map<String, Object> settings) {
    return option(name, JsonMapper.shared().writeValueAsString(settings));
  }

  CommandLine flag(String name) {
    words.add(name);
    return this;
  }

  CommandLine flagIf(boolean wanted, String name) {
    return wanted ? flag(name) : this;
  }

  /** Adds an operator's own options. */
  CommandLine options(Map<String, String> options) {
    options.forEach((name, value) -> {
      words.add(name);
      if (!value.isEmpty()) {
        words.add(value);
      }
    });
    return this;
  }

  List<String> words() {
    return List.copyOf(words);
  }
}
