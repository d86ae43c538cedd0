package io.orbitkv.pd.composition.check;

import io.orbitkv.pd.composition.file.Setting;
import java.util.Optional;

/** What came of a question. */
public sealed interface Answer {

  /**
   * Somebody answered.
   *
   * @param status of HTTP
   * @param body as it came
   * @param json what it means, if it is JSON
   */
  record Said(int status, String body, Optional<Setting> json) implements Answer {}

  /**
   * Nobody did.
   *
   * @param reason why, in words
   */
  record Silent(String reason) implements Answer {}
}
