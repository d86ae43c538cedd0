package io.orbitkv.pd.composition.rule;

/**
 * A rule that a composition breaks, for an operator.
 *
 * @param rule its name
 * @param where which worker or part, and what of it
 * @param found the value
 * @param expected what it should be, and why
 * @param fix what to change
 */
public record Violation(String rule, String where, String found, String expected, String fix) {

  /** Returns it in one line. */
  public String line() {
    return where + " is " + found + ", expected " + expected + ": " + fix + " [" + rule + "]";
  }
}
