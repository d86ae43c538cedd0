package io.orbitkv.benchmarks;

import java.io.IOException;

/** Starts JMH from the module path; takes JMH's own arguments. */
public final class Main {

  private Main() {}

  /**
   * Runs the benchmarks that the arguments name.
   *
   * @param args as for JMH
   * @throws IOException if JMH cannot write its results
   */
  public static void main(String[] args) throws IOException {
    org.openjdk.jmh.Main.main(args);
  }
}
