package io.orbitkv.core.agent;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.HostRegion;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.function.Function;

/**
 * The cache of a node Manager, which need not be there yet: the first attachment that finds it connects. Thread-safe.
 */
public final class ManagerLink implements CacheLink, AutoCloseable {

  private final Path socket;
  private final Function<MemorySegment, HostRegion> mapped;
  private ManagerClient client;
  private boolean closed;

  /**
   * Opens nothing yet. For agents whose device need not know the Manager's memory.
   *
   * @param socket the Manager's socket
   */
  public ManagerLink(Path socket) {
    this(socket, memory -> () -> {});
  }

  /**
   * Opens nothing yet.
   *
   * @param socket the Manager's socket
   * @param device what copies, which is told of the Manager's memory; it must outlive the link
   */
  public ManagerLink(Path socket, Device device) {
    this(socket, device::hostMemory);
  }

  private ManagerLink(Path socket, Function<MemorySegment, HostRegion> mapped) {
    this.socket = socket;
    this.mapped = mapped;
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
      client = ManagerClient.open(socket, ManagerClient.DEFAULT_DEADLINE, mapped);
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
