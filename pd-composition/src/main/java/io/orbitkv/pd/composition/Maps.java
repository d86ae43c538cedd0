package io.orbitkv.pd.composition;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** Copies that keep the order, as a person wrote it. */
final class Maps {

  private Maps() {}

  static Map<String, String> copy(Map<String, String> map) {
    return Collections.unmodifiableMap(new LinkedHashMap<>(map));
  }
}
