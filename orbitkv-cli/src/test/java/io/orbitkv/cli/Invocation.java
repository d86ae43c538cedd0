package io.orbitkv.cli;

import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.Backends;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.function.BiFunction;

/**
 * One run of the command, in this process.
 *
 * @param exitCode what a shell would see
 * @param out what it wrote for a result
 * @param err what it wrote beside
 */
record Invocation(int exitCode, String out, String err) {

  /** Runs the command as it is shipped. */
  static Invocation of(String... args) {
    return with(CacheSettings::opener, args);
  }

  /** Runs the command over caches of the test's own. */
  static Invocation with(BiFunction<CacheSettings, Backends, CacheOpener> caches, String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int exitCode =
        new OrbitKv(Terminal.of(new PrintWriter(out, true), new PrintWriter(err, true)), caches).run(args);
    return new Invocation(exitCode, out.toString(), err.toString());
  }
}
