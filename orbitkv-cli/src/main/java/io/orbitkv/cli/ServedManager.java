package io.orbitkv.cli;

import io.orbitkv.cli.http.HttpSettings;
import io.orbitkv.cli.http.StatusServer;
import io.orbitkv.core.manager.Manager;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;

/**
 * A Manager in this process, with HTTP if that is wanted.
 *
 * @param manager the Manager
 * @param http what shows it
 */
record ServedManager(Manager manager, Optional<StatusServer> http) implements AutoCloseable {

  /**
   * Opens both, and writes the address of HTTP where {@code orbitkv status} finds it.
   *
   * @throws io.orbitkv.api.RefusedException if a setting is wrong
   * @throws io.orbitkv.api.UnavailableException if the machine does not grant what is asked for
   */
  static ServedManager open(Manager.Builder builder, Optional<HttpSettings> settings) {
    Manager manager = builder.open();
    ServedManager served = new ServedManager(manager, Optional.empty());
    try {
      if (settings.isPresent()) {
        served = new ServedManager(manager, Optional.of(StatusServer.open(manager, settings.get())));
        served.http.get().announceIn(manager.socket().getParent());
      }
      return served;
    } catch (RuntimeException e) {
      served.close();
      throw e;
    }
  }

  /** Returns the socket that clients connect to. */
  Path socket() {
    return manager.socket();
  }

  /** Returns where it serves, what it has and what it found, in words. */
  String describe() {
    return manager.socket() + ", " + manager.describeMemory()
        + manager.recovery().map(found -> String.format(Locale.ROOT, ", %,d blocks found on the SSD", found.extents()))
            .orElse(", no SSD")
        + http.map(server -> ", " + server.uri()).orElse(", no HTTP");
  }

  @Override
  public void close() {
    http.ifPresent(StatusServer::close);
    manager.close();
  }
}
