package io.orbitkv.core.agent;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import java.nio.file.Path;

/**
 * The cache of a node Manager, which need not be there yet: the first attachment that finds it connects. Thread-safe.
 */
public final class ManagerLink implements CacheLink, AutoCloseable {

  private final Path socket;
  private ManagerClient client;
  private boolean closed;

  /**
   * Opens nothing yet.
   *
   * @param socket the Manager's socket
   */
  public ManagerLink(Path socket) {
    this.socket = socket;
  }

  @Override
  public Session attach(SessionSpec spec, Membership membership) {
    return client().attach(spec, membership);
  }

  private synchronized ManagerClient client() {
    if (closed) {
      throw new ClosedException("the link to the Manager at " + socket + " is closed");
    }
    if (client == null) {
      client = ManagerClient.open(socket);
    }
    return client;
  }

  /** Gives up the connection. Its sessions are to be closed before. Idempotent. */
  @Override
  public synchronized void close() {
    closed = true;
    if (client != null) {
      client.close();
    }
  }
}
