package io.orbitkv.pd.composition.plan;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** JSON in one line, of maps with names, lists, texts, whole numbers and booleans. */
final class JsonText {

  private JsonText() {}

  static String of(Object value) {
    return switch (value) {
      case Map<?, ?> map -> map.entrySet().stream()
          .map(entry -> of(entry.getKey().toString()) + ": " + of(entry.getValue()))
          .collect(Collectors.joining(", ", "{", "}"));
      case List<?> list -> list.stream().map(JsonText::of).collect(Collectors.joining(", ", "[", "]"));
      case Integer number -> number.toString();
      case Boolean truth -> truth.toString();
      case String text -> quoted(text);
      default -> throw new IllegalArgumentException("no JSON for " + value.getClass());
    };
  }

  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"', '\\' -> quoted.append('\\').append(c);
        default -> {
          if (c < ' ') {
            quoted.append(String.format("\\u%04x", (int) c));
          } else {
            quoted.append(c);
          }
        }
      }
    }
    return quoted.append('"').toString();
  }
}
