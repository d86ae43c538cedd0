package io.orbitkv.pd.composition.check;

/**
 * What one question came to.
 *
 * @param what was looked at
 * @param verdict how it is
 * @param found what is there
 * @param expected what the composition says
 * @param fix what to do; empty if nothing is
 */
public record Finding(String what, Verdict verdict, String found, String expected, String fix) {

  /** How it is. */
  public enum Verdict {
    /** As the composition says. */
    OK,
    /** It serves, and somebody should look. */
    WARN,
    /** It is not what the composition says. */
    FAIL
  }

  static Finding ok(String what, String found) {
    return new Finding(what, Verdict.OK, found, found, "");
  }

  static Finding warn(String what, String found, String expected, String fix) {
    return new Finding(what, Verdict.WARN, found, expected, fix);
  }

  static Finding fail(String what, String found, String expected, String fix) {
    return new Finding(what, Verdict.FAIL, found, expected, fix);
  }

  /** Returns whether something is as it should be. */
  static Finding of(String what, String found, String expected, String fix) {
    return found.equals(expected) ? ok(what, found) : fail(what, found, expected, fix);
  }
}
