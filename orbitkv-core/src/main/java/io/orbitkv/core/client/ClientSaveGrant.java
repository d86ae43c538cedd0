package io.orbitkv.core.client;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Request;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** A right to write that a Manager gave, or one that wants nothing and that no Manager knows of. */
final class ClientSaveGrant implements SaveGrant {

  private final ClientSession session;
  private final Registration registration;
  private final long grant;
  private final long[] shardsAt;
  private final int first;
  private final int shardBytes;
  private final int[] crcs;
  private final boolean[] copied;
  private boolean ended;

  private ClientSaveGrant(
      ClientSession session, Registration registration, long grant, long[] shardsAt, int first, int shardBytes) {
    this.session = session;
    this.registration = registration;
    this.grant = grant;
    this.shardsAt = shardsAt;
    this.first = first;
    this.shardBytes = shardBytes;
    this.crcs = new int[shardsAt.length];
    this.copied = new boolean[shardsAt.length];
  }

  ClientSaveGrant(
      ClientSession session, Registration registration, Reply.Granted granted, int first, int shardBytes) {
    this(session, registration, granted.grant(), granted.shardsAt(), first, shardBytes);
  }

  /** Returns a grant of a Manager that wants none of the blocks. */
  static ClientSaveGrant nothing(Reply.Granted granted, int first) {
    return new ClientSaveGrant(null, null, 0, granted.shardsAt(), first, 0);
  }

  /** Returns a grant that wants none of the blocks, of which nobody knows whether they are stored. */
  static ClientSaveGrant unwanted(int from, int to) {
    long[] nowhere = new long[to - from];
    Arrays.fill(nowhere, Protocol.UNWANTED);
    return new ClientSaveGrant(null, null, 0, nowhere, from, 0);
  }

  @Override
  public int firstBlock() {
    return first;
  }

  @Override
  public int blocks() {
    return shardsAt.length;
  }

  @Override
  public boolean wants(int block) {
    return block >= first && block - first < shardsAt.length && shardsAt[block - first] >= 0;
  }

  @Override
  public int wanted() {
    int wanted = 0;
    for (long at : shardsAt) {
      wanted += at >= 0 ? 1 : 0;
    }
    return wanted;
  }

  @Override
  public int stored() {
    int stored = 0;
    for (long at : shardsAt) {
      stored += at == Protocol.STORED ? 1 : 0;
    }
    return stored;
  }

  @Override
  public MemorySegment shard(int block) {
    requireOpen();
    return registration.shard(shardAt(block), shardBytes);
  }

  @Override
  public void copied(int block, int crc32c) {
    requireOpen();
    shardAt(block);
    crcs[block - first] = crc32c;
    copied[block - first] = true;
  }

  private long shardAt(int block) {
    if (!wants(block)) {
      throw new RefusedException("block " + block + " is not wanted by this grant of " + shardsAt.length
          + " blocks from " + first + "; ask wants(block) first");
    }
    return shardsAt[block - first];
  }

  @Override
  public int commit() {
    requireOpen();
    ended = true;
    if (grant == 0) {
      return 0;
    }
    try {
      return session.tell(registration, new Request.Commit(grant, copied, crcs)) instanceof Reply.Committed committed
          ? committed.blocks()
          : 0;
    } finally {
      registration.release();
    }
  }

  @Override
  public void close() {
    if (!ended) {
      ended = true;
      if (grant != 0) {
        session.tell(registration, new Request.Abort(grant));
        registration.release();
      }
    }
  }

  private void requireOpen() {
    if (ended) {
      throw new ClosedException("the save of " + shardsAt.length + " blocks from " + first + " has ended");
    }
  }
}
