package io.orbitkv.pd.composition.check;

import io.orbitkv.pd.composition.file.Setting;
import java.util.List;
import java.util.Optional;

/** Values in what a process answered. */
final class Answers {

  private Answers() {}

  /** Returns the value at the end of a path of names; nothing if there is none. */
  static Optional<Setting> at(Answer answer, String... path) {
    if (!(answer instanceof Answer.Said said) || said.status() != 200) {
      return Optional.empty();
    }
    Optional<Setting> at = said.json();
    for (String name : path) {
      at = at.flatMap(value -> value instanceof Setting.Table table
          ? Optional.ofNullable(table.values().get(name)) : Optional.empty());
    }
    return at;
  }

  /** Returns a value as it would be written. */
  static String text(Setting setting) {
    return switch (setting) {
      case Setting.Text text -> text.value();
      case Setting.Whole whole -> Long.toString(whole.value());
      case Setting.Switch value -> Boolean.toString(value.value());
      case Setting.Other other -> other.text();
      case Setting.Table _ -> "an object";
      case Setting.Row _ -> "a list";
    };
  }

  static String text(Answer answer, String... path) {
    return at(answer, path).map(Answers::text).orElseGet(() -> instead(answer));
  }

  static List<Setting> row(Answer answer, String... path) {
    return at(answer, path).filter(Setting.Row.class::isInstance).map(Setting.Row.class::cast)
        .map(Setting.Row::values).orElse(List.of());
  }

  static long whole(Setting table, String name) {
    return table instanceof Setting.Table values && values.values().get(name) instanceof Setting.Whole whole
        ? whole.value() : 0;
  }

  static String text(Setting table, String name) {
    return table instanceof Setting.Table values && values.values().containsKey(name)
        ? text(values.values().get(name)) : "nothing";
  }

  /** Returns what there is in place of a value. */
  static String instead(Answer answer) {
    return switch (answer) {
      case Answer.Silent silent -> silent.reason();
      case Answer.Said said -> said.status() == 200 ? "nothing" : "status " + said.status();
    };
  }
}
