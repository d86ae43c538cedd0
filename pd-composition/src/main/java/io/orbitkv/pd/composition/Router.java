package io.orbitkv.pd.composition;

import java.net.URI;
import java.util.Map;

/**
 * What clients speak to: the engine's own router.
 *
 * @param host where it listens
 * @param port where it listens
 * @param options more of its command line, by name; empty for a switch
 */
public record Router(String host, int port, Map<String, String> options) {

  /** Copies the options. */
  public Router {
    options = Maps.copy(options);
  }

  /** Returns where it answers HTTP. */
  public URI http() {
    return URI.create("http://" + host + ":" + port);
  }
}
