package io.orbitkv.cli.http;

import java.net.InetSocketAddress;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * The names that this server goes by. A browser that was led here by a foreign name whose address was changed to this
 * host's (DNS rebinding) still sends that name.
 */
final class HostNames {

  private static final Pattern LOOPBACK = Pattern.compile("localhost|127(\\.\\d{1,3}){3}|\\[::1]");
  private static final Pattern PORT = Pattern.compile(":\\d{1,5}$");

  private final String bound;

  HostNames(InetSocketAddress address) {
    this.bound = address.getHostString().toLowerCase(Locale.ROOT);
  }

  /** Returns whether a Host header names this server; a request without one comes from no browser. */
  boolean include(String host) {
    if (host == null) {
      return true;
    }
    String name = PORT.matcher(host).replaceFirst("").toLowerCase(Locale.ROOT);
    return LOOPBACK.matcher(name).matches() || name.equals(bound) || name.equals("[" + bound + "]");
  }
}
