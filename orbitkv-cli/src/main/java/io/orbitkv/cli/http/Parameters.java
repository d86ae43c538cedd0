package io.orbitkv.cli.http;

import io.orbitkv.api.RefusedException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The part of an address behind the question mark. An unknown or repeated name is refused, as a misspelt flag is. */
final class Parameters {

  private final Map<String, String> values = new HashMap<>();

  /**
   * @param query as it was sent, null if there is none
   * @param known names that may occur
   */
  Parameters(String query, Set<String> known) {
    if (query == null || query.isEmpty()) {
      return;
    }
    for (String part : query.split("&", -1)) {
      int equals = part.indexOf('=');
      String name = decoded(equals < 0 ? part : part.substring(0, equals));
      if (!known.contains(name)) {
        throw new RefusedException(
            "parameter '" + name + "' is unknown, expected " + (known.isEmpty() ? "none" : known));
      }
      if (values.put(name, equals < 0 ? "" : decoded(part.substring(equals + 1))) != null) {
        throw new RefusedException("parameter '" + name + "' is given twice");
      }
    }
  }

  String required(String name) {
    String value = values.get(name);
    if (value == null) {
      throw new RefusedException("parameter '" + name + "' is missing");
    }
    return value;
  }

  private static String decoded(String text) {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new RefusedException("'" + text + "' is not encoded as part of an address", e);
    }
  }
}
