package io.orbitkv.pd.composition.file;

import io.orbitkv.api.RefusedException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The named values of one table, taken one by one. A value that is no such thing, or that nobody takes, is refused with
 * its line, its name, what was expected and what to do.
 */
final class Fields {

  private final String file;
  private final String path;
  private final Setting.Table table;
  private final Set<String> taken = new HashSet<>();

  Fields(String file, String path, Setting.Table table) {
    this.file = file;
    this.path = path;
    this.table = table;
  }

  String text(String name) {
    return text(name, null);
  }

  /** Returns a text that is not empty; what is given if there is none, and a refusal if nothing is given. */
  String text(String name, String otherwise) {
    return take(name, "a text that is not empty", otherwise, setting ->
        setting instanceof Setting.Text text && !text.value().isBlank() ? Optional.of(text.value()) : Optional.empty());
  }

  Optional<String> optionalText(String name) {
    return has(name) ? Optional.of(text(name)) : Optional.empty();
  }

  int whole(String name, int least, int most, Integer otherwise) {
    return take(name, "a whole number from " + least + " to " + most, otherwise, setting ->
        setting instanceof Setting.Whole whole && whole.value() >= least && whole.value() <= most
            ? Optional.of((int) whole.value()) : Optional.empty());
  }

  boolean isSet(String name, boolean otherwise) {
    return take(name, "true or false", otherwise, setting ->
        setting instanceof Setting.Switch value ? Optional.of(value.value()) : Optional.empty());
  }

  <T> T choice(String name, List<T> choices, Function<T, String> word, T otherwise) {
    String expected = choices.stream().map(word).collect(Collectors.joining("', '", "one of '", "'"));
    return take(name, expected, otherwise, setting ->
        setting instanceof Setting.Text text
            ? choices.stream().filter(choice -> word.apply(choice).equals(text.value())).findFirst()
            : Optional.empty());
  }

  Optional<String> digest(String name) {
    return optional(name, "64 hexadecimal digits", setting ->
        setting instanceof Setting.Text text && text.value().matches("[0-9a-fA-F]{64}")
            ? Optional.of(text.value()) : Optional.empty());
  }

  Optional<Path> absolutePath(String name) {
    return optional(name, "an absolute path", setting ->
        setting instanceof Setting.Text text && text.value().startsWith("/")
            ? Optional.of(Path.of(text.value())) : Optional.empty());
  }

  Optional<URI> http(String name) {
    return optional(name, "an address as http://10.0.0.1:9470", setting ->
        setting instanceof Setting.Text text && text.value().matches("https?://[^/\\s]+")
            ? Optional.of(URI.create(text.value())) : Optional.empty());
  }

  /** Returns texts by names that have a form. A number is taken as it is written, and {@code true} as an empty text. */
  Map<String, String> texts(String name, String form, String expected, boolean switches) {
    Map<String, String> texts = new LinkedHashMap<>();
    if (!has(name)) {
      return texts;
    }
    Setting.Table values = take(name, "an object", null, setting ->
        setting instanceof Setting.Table inner ? Optional.of(inner) : Optional.empty());
    values.values().forEach((key, setting) -> {
      String at = path + name + "." + key;
      if (!key.matches(form)) {
        throw refused(setting.line(), at + " is no name here, expected " + expected);
      }
      texts.put(key, switch (setting) {
        case Setting.Text text -> text.value();
        case Setting.Whole whole -> Long.toString(whole.value());
        case Setting.Switch(int _, boolean value) when value && switches -> "";
        default -> throw refused(setting.line(), at + " is " + written(setting) + ", expected a text or a number"
            + (switches ? ", or true for an option without a value; leave out what is not to be set" : ""));
      });
    });
    return texts;
  }

  Fields fields(String name) {
    return take(name, "an object", new Fields(file, path + name + ".", new Setting.Table(table.line(), Map.of())),
        setting -> setting instanceof Setting.Table inner
            ? Optional.of(new Fields(file, path + name + ".", inner)) : Optional.empty());
  }

  List<Fields> rows(String name) {
    Setting.Row row = take(name, "a list of objects, one a worker", null, setting ->
        setting instanceof Setting.Row values ? Optional.of(values) : Optional.empty());
    List<Fields> rows = new ArrayList<>();
    for (Setting value : row.values()) {
      String at = path + name + "[" + rows.size() + "]";
      if (!(value instanceof Setting.Table inner)) {
        throw refused(value.line(), at + " is " + written(value) + ", expected an object");
      }
      rows.add(new Fields(file, at + ".", inner));
    }
    return rows;
  }

  /** Refuses what nobody has taken. */
  void end() {
    table.values().forEach((name, setting) -> {
      if (!taken.contains(name)) {
        throw refused(setting.line(), path + name + " is no setting; there are "
            + taken.stream().sorted().collect(Collectors.joining(", ")) + ": take it out, or correct its name");
      }
    });
  }

  RefusedException refused(int line, String what) {
    return new RefusedException(file + ":" + line + ": " + what);
  }

  int line() {
    return table.line();
  }

  private boolean has(String name) {
    taken.add(name);
    return table.values().containsKey(name);
  }

  private <T> Optional<T> optional(String name, String expected, Function<Setting, Optional<T>> read) {
    return has(name) ? Optional.of(take(name, expected, null, read)) : Optional.empty();
  }

  private <T> T take(String name, String expected, T otherwise, Function<Setting, Optional<T>> read) {
    taken.add(name);
    Setting setting = table.values().get(name);
    if (setting == null) {
      if (otherwise == null) {
        throw refused(table.line(), path + name + " is missing, expected " + expected);
      }
      return otherwise;
    }
    return read.apply(setting)
        .orElseThrow(() -> refused(setting.line(), path + name + " is " + written(setting) + ", expected " + expected));
  }

  private static String written(Setting setting) {
    return switch (setting) {
      case Setting.Table _ -> "an object";
      case Setting.Row _ -> "a list";
      case Setting.Text text -> "'" + text.value() + "'";
      case Setting.Whole whole -> Long.toString(whole.value());
      case Setting.Switch value -> Boolean.toString(value.value());
      case Setting.Other other -> other.text();
    };
  }
}
