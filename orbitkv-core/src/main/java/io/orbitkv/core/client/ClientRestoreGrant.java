package io.orbitkv.core.client;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Request;
import java.lang.foreign.MemorySegment;

/** A right to read that a Manager gave: the shards are views of the arena as this process maps it. */
final class ClientRestoreGrant implements RestoreGrant {

  private final ClientSession session;
  private final Registration registration;
  private final Reply.Granted grant;
  private final int shardBytes;
  private boolean ended;

  ClientRestoreGrant(ClientSession session, Registration registration, Reply.Granted grant, int shardBytes) {
    this.session = session;
    this.registration = registration;
    this.grant = grant;
    this.shardBytes = shardBytes;
  }

  @Override
  public int blocks() {
    return grant.shardsAt().length;
  }

  @Override
  public MemorySegment shard(int block) {
    requireOpen("read");
    if (block < 0 || block >= blocks()) {
      throw new RefusedException("block " + block + " of a restore of " + blocks());
    }
    return registration.shard(grant.shardsAt()[block], shardBytes).asReadOnly();
  }

  @Override
  public void enqueued() {
    requireOpen("enqueued");
    session.tell(registration, new Request.Enqueued(grant.grant()));
  }

  @Override
  public void drained() {
    if (!ended) {
      ended = true;
      session.tell(registration, new Request.Drained(grant.grant()));
      registration.release();
    }
  }

  private void requireOpen(String operation) {
    if (ended) {
      throw new ClosedException("the restore is drained and cannot be " + operation
          + "; its shards may hold other bytes by now");
    }
  }
}
