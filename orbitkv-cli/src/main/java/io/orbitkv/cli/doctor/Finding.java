package io.orbitkv.cli.doctor;

/**
 * What one check found.
 *
 * @param what was looked at, in a word or two
 * @param verdict how it is
 * @param found what is there
 * @param needed what the cache needs
 * @param fix what to do, empty if nothing is to be done
 */
public record Finding(String what, Verdict verdict, String found, String needed, String fix) {

  /** How good it is. */
  public enum Verdict {
    /** As needed. */
    OK,
    /** It works, slower or with less. */
    WARN,
    /** It does not work. */
    FAIL
  }

  static Finding ok(String what, String found, String needed) {
    return new Finding(what, Verdict.OK, found, needed, "");
  }

  static Finding warn(String what, String found, String needed, String fix) {
    return new Finding(what, Verdict.WARN, found, needed, fix);
  }

  static Finding fail(String what, String found, String needed, String fix) {
    return new Finding(what, Verdict.FAIL, found, needed, fix);
  }
}
