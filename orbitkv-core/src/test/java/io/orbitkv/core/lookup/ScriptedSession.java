package io.orbitkv.core.lookup;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Lease;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;

/** A session that answers what a test says, when the test lets it. */
final class ScriptedSession implements Session {

  /** What was asked, in words. */
  final List<String> calls = new CopyOnWriteArrayList<>();
  final List<Long> closedLeases = new CopyOnWriteArrayList<>();

  /** A permit for each call that is answered; a test that hangs the cache takes them. */
  final Semaphore permits = new Semaphore(Integer.MAX_VALUE / 2);

  /** What one call is answered. */
  final Map<String, Answer> answers = new ConcurrentHashMap<>();

  /** What the others are. */
  volatile Answer answer = new Answer.Miss(MissReason.NOT_STORED);
  volatile RuntimeException failure;
  volatile Departures departures;
  private long operations;

  Answer hit(long lease, int blocks) {
    return new Answer.Hit(new Lease() {
      @Override
      public long id() {
        return lease;
      }

      @Override
      public int blocks() {
        return blocks;
      }

      @Override
      public long bytes() {
        return blocks;
      }

      @Override
      public void close() {
        closedLeases.add(lease);
        if (failure != null) {
          throw failure;
        }
      }
    }, blocks, 0, MissReason.NONE);
  }

  private Answer answered(String call) {
    calls.add(call);
    permits.acquireUninterruptibly();
    if (failure != null) {
      throw failure;
    }
    return answers.getOrDefault(call, answer);
  }

  @Override
  public Ticket query(PrefixChain chain) {
    return query(new QueryId(operations++, 0), chain);
  }

  @Override
  public Ticket query(QueryId id, PrefixChain chain) {
    Answer first = answered("query " + id + " of " + chain.blocks());
    return new Ticket() {
      private boolean polled;

      @Override
      public QueryId id() {
        return id;
      }

      @Override
      public Answer poll() {
        if (!polled) {
          polled = true;
          return first;
        }
        return answered("poll " + id);
      }

      @Override
      public Answer await(Duration limit) {
        throw new UnsupportedOperationException("the scheduler's cache is never waited for");
      }

      @Override
      public void cancel() {
        answered("cancel " + id);
      }
    };
  }

  @Override
  public SessionSpec spec() {
    throw new UnsupportedOperationException("not asked for");
  }

  @Override
  public RestoreGrant restore(Lease lease, int rank) {
    throw new UnsupportedOperationException("a scheduler copies nothing");
  }

  @Override
  public RestoreGrant restore(long lease, int rank) {
    throw new UnsupportedOperationException("a scheduler copies nothing");
  }

  @Override
  public SaveGrant reserve(int rank, PrefixChain chain, int fromBlock, int toBlock) {
    throw new UnsupportedOperationException("a scheduler copies nothing");
  }

  @Override
  public Departures departures(long cursor) {
    calls.add("departures " + cursor);
    if (failure != null) {
      throw failure;
    }
    return departures;
  }

  @Override
  public void close() {}
}
