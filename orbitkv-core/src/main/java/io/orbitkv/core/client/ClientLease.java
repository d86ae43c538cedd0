package io.orbitkv.core.client;

import io.orbitkv.api.Lease;
import io.orbitkv.core.wire.Request;
import java.util.concurrent.atomic.AtomicBoolean;

/** A lease that a Manager holds for this process. */
final class ClientLease implements Lease {

  private final ClientSession session;
  private final Registration registration;
  private final long id;
  private final int blocks;
  private final long bytes;
  private final AtomicBoolean closed = new AtomicBoolean();

  ClientLease(ClientSession session, Registration registration, long id, int blocks, long bytes) {
    this.session = session;
    this.registration = registration;
    this.id = id;
    this.blocks = blocks;
    this.bytes = bytes;
  }

  ClientSession session() {
    return session;
  }

  Registration registration() {
    return registration;
  }

  @Override
  public long id() {
    return id;
  }

  @Override
  public int blocks() {
    return blocks;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      session.tell(registration, new Request.Release(registration.generation(), id));
    }
  }
}
