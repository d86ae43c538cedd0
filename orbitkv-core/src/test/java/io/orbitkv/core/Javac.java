package io.orbitkv.core;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;

/** The compiler, for tests of code that is not there before the test. */
public final class Javac {

  private Javac() {}

  /** Compiles, or fails with the compiler's messages. */
  public static void compile(List<String> arguments) {
    StringWriter messages = new StringWriter();
    int status;
    try (PrintWriter writer = new PrintWriter(messages)) {
      status = ToolProvider.findFirst("javac").orElseThrow().run(writer, writer, arguments.toArray(String[]::new));
    }
    if (status != 0) {
      throw new AssertionError("the sources do not compile: " + messages);
    }
  }

  /** Returns the folder or jar that a class comes from. */
  public static String placeOf(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
  }
}
