package io.orbitkv.arch.provider;

import java.util.ArrayList;
import java.util.List;

/**
 * Remembers what was opened while it watches. Lives in the bootstrap loader, since the JDK's own classes call it, and
 * is therefore static.
 */
public final class Witness {

  private static final String JAVA_HOME = System.getProperty("java.home");
  private static final List<String> SEEN = new ArrayList<>();
  private static boolean watching;

  private Witness() {}

  /** Starts to watch. */
  public static synchronized void watch() {
    watching = true;
  }

  /** Ends watching and tells what was seen. */
  public static synchronized List<String> finish() {
    watching = false;
    return List.copyOf(SEEN);
  }

  /**
   * Called by the JDK where it opens something.
   *
   * @param gate the method
   * @param what its first argument, if that is an object
   */
  public static synchronized void saw(String gate, Object what) {
    if (watching && !isTheJdks(what)) {
      watching = false;
      String culprit = culprit(new Throwable().getStackTrace());
      if (culprit != null) {
        SEEN.add(gate + (what == null ? "" : " " + what) + " by " + culprit);
      }
      watching = true;
    }
  }

  /** The JDK's configuration, and libraries that it loads for itself. */
  private static boolean isTheJdks(Object what) {
    return what instanceof Class<?> forClass
        ? forClass.getClassLoader() == null
        : what != null && what.toString().startsWith(JAVA_HOME);
  }

  /** Returns the first frame outside the JDK, or null if something between it and the gate only looks for classes. */
  private static String culprit(StackTraceElement[] stack) {
    for (StackTraceElement frame : stack) {
      if (frame.getClassLoaderName() != null) {
        return frame.getClassName() + "." + frame.getMethodName();
      }
      if (looksForClasses(frame.getClassName(), frame.getMethodName())) {
        return null;
      }
    }
    return "thread " + Thread.currentThread().getName();
  }

  private static boolean looksForClasses(String type, String method) {
    boolean loads = method.contains("loadClass") || method.contains("findClass");
    return loads && (type.startsWith("jdk.internal.loader.") || type.equals("java.lang.ClassLoader"))
        || type.equals("java.util.ServiceLoader$LazyClassPathLookupIterator");
  }
}
