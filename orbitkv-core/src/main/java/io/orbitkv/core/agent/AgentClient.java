package io.orbitkv.core.agent;

import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply.Standing;
import io.orbitkv.core.wire.Software;
import io.orbitkv.core.wire.UnixSocket;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * A worker's view of its agent, for an engine in Java; for one in Python there is {@code orbitkv_agent}. It has the agent
 * copy, and does without it when it is gone.
 *
 * <p>No call throws for what the agent or the socket does, and none takes longer than the deadline and what it says that
 * it waits. Without an agent, calls return nothing at once. A connection is tried again by a call, at most once in a
 * pause that doubles with every failure.
 *
 * <p>Pages of a transfer stay with the agent until {@link #progress} reports it, also when the connection breaks: then
 * nobody can say whether copies still run. They are reported, as failed, when an agent welcomes this worker again, or
 * when the agent's process is seen gone. So the worker must be in the agent's pid namespace, as whoever starts it is.
 *
 * <p>Used by one thread at a time.
 */
public final class AgentClient implements AutoCloseable {

  private static final long FIRST_PAUSE_NANOS = Duration.ofMillis(50).toNanos();
  private static final long LONGEST_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();
  private static final long POLL_NANOS = Duration.ofMillis(1).toNanos();

  private static final Logger LOG = System.getLogger(AgentClient.class.getName());

  private final Path socket;
  private final Worker worker;
  private final Duration deadline;
  /** Transfers that the agent has under way, by the agent's numbers. */
  private final Map<Long, AgentTransfer> underWay = new HashMap<>();
  /** Transfers that were under way when a connection broke. */
  private final List<AgentTransfer> doubtful = new ArrayList<>();
  private final List<AgentTransfer.Report> settled = new ArrayList<>();
  private Dialogue<AgentRequest, AgentReply> connection;
  /** Whose connection it is, or was when it broke. */
  private Optional<ProcessHandle> agent = Optional.empty();
  private long pauseNanos = FIRST_PAUSE_NANOS;
  private long nextTry = System.nanoTime();
  private long lastOperation;
  private long lastNumber;

  /**
   * Who the worker is.
   *
   * @param instance the engine's name, 1 to 128 characters
   * @param incarnation a number that all members of the instance share and its next start has not
   * @param namespace what its bytes mean
   * @param rank its rank, 0 to ranks - 1
   * @param ranks how many ranks hold a shard of each block
   * @param whole whether it asks queries too, which needs an instance of one rank
   * @param blockTokens tokens of one block, for counting only; zero if not stated
   * @param layout where its pages lie
   * @param memory the file with its pool, which holds one start's pages
   */
  public record Worker(String instance, long incarnation, Namespace namespace, int rank, int ranks, boolean whole,
      int blockTokens, PoolLayout layout, Path memory) {}

  /**
   * A lease on a stored prefix.
   *
   * @param lease its number
   * @param blocks how many it has
   */
  public record Found(long lease, int blocks) {}

  /**
   * Connects to nothing yet.
   *
   * @param socket the agent's socket
   * @param worker who this is
   * @param deadline how long a request may take, what it waits for itself left out
   */
  public AgentClient(Path socket, Worker worker, Duration deadline) {
    this.socket = socket;
    this.worker = worker;
    this.deadline = deadline;
  }

  /**
   * Asks for the longest stored prefix of a chain.
   *
   * @param wait how long to wait for blocks that are read from the SSD
   * @return a lease, or nothing: a miss for whatever reason
   */
  public Optional<Found> lookUp(PrefixChain chain, Duration wait) {
    long operation = ++lastOperation;
    long end = System.nanoTime() + wait.toNanos();
    Optional<AgentReply> reply = ask(new AgentRequest.Query(operation, 0, chain));
    while (reply.orElse(null) instanceof AgentReply.Answered answered) {
      if (answered.standing() != Standing.PENDING) {
        return answered.standing() == Standing.HIT
            ? Optional.of(new Found(answered.lease(), answered.dramBlocks() + answered.ssdBlocks()))
            : Optional.empty();
      }
      if (System.nanoTime() - end >= 0) {
        ask(new AgentRequest.CancelQuery(operation, 0));
        return Optional.empty();
      }
      LockSupport.parkNanos(POLL_NANOS);
      reply = ask(new AgentRequest.Poll(operation, 0));
    }
    return Optional.empty();
  }

  /** Gives up a lease of {@link #lookUp}. Loads that were started keep their share. */
  public void release(long lease) {
    ask(new AgentRequest.Release(lease));
  }

  /**
   * Starts to copy blocks of a leased prefix into pages.
   *
   * @param lease its number, from this agent or, for an engine of several ranks, from the Manager
   * @param firstBlock index in the chain of the first block
   * @param pages one page a block, all different
   * @return the transfer, or nothing: then no page is touched
   */
  public Optional<AgentTransfer> load(long lease, int firstBlock, int[] pages) {
    return start(true, new AgentRequest.Load(lease, firstBlock, pages, 0));
  }

  /**
   * Starts to copy those blocks out of pages that the cache wants.
   *
   * @param chain the prompt's chain, at least to the last of these blocks
   * @param firstBlock index in the chain of the first block
   * @param pages one page a block; they stay as they are until the transfer is reported
   * @return the transfer, or nothing: then none is copied
   */
  public Optional<AgentTransfer> save(PrefixChain chain, int firstBlock, int[] pages) {
    return start(false, new AgentRequest.Save(0, 0, chain, firstBlock, pages));
  }

  /**
   * Returns the transfers that have ended, each once.
   *
   * @param wait how long to wait for the first, at most a second
   */
  public List<AgentTransfer.Report> progress(Duration wait) {
    if (!underWay.isEmpty() && settled.isEmpty()) {
      int millis = Math.clamp(wait.toMillis(), 0, AgentProtocol.MAX_WAIT_MILLIS);
      if (ask(new AgentRequest.Progress(millis), Duration.ofMillis(millis)).orElse(null)
          instanceof AgentReply.Finished finished) {
        for (int i = 0; i < finished.transfers().length; i++) {
          settled.add(new AgentTransfer.Report(underWay.remove(finished.transfers()[i]), finished.blocks()[i]));
        }
      }
    }
    if (!doubtful.isEmpty()) {
      settle();
    }
    List<AgentTransfer.Report> reports = List.copyOf(settled);
    settled.clear();
    return reports;
  }

  /** Returns whether every transfer is reported, so that all pages are the engine's. */
  public boolean hasAllPages() {
    return underWay.isEmpty() && doubtful.isEmpty() && settled.isEmpty();
  }

  private Optional<AgentTransfer> start(boolean isLoad, AgentRequest request) {
    AgentTransfer transfer = new AgentTransfer(++lastNumber, isLoad);
    if (connection == null && !connect()) {
      return Optional.empty();
    }
    switch (ask(request).orElse(null)) {
      case AgentReply.Started started when started.transfer() != 0 -> underWay.put(started.transfer(), transfer);
      // The request may have been carried out though its answer did not come.
      case null -> doubtful.add(transfer);
      default -> {
        return Optional.empty();
      }
    }
    return Optional.of(transfer);
  }

  /** Finds out what has become of transfers that were under way when a connection broke. */
  private void settle() {
    if (agent.isPresent() && !agent.get().isAlive()) {
      giveBack();
    } else if (connection == null) {
      connect();
    }
  }

  private void giveBack() {
    doubtful.forEach(transfer -> settled.add(new AgentTransfer.Report(transfer, 0)));
    doubtful.clear();
  }

  private Optional<AgentReply> ask(AgentRequest request) {
    return ask(request, Duration.ZERO);
  }

  /** Returns the reply, or nothing if there is no agent. */
  private Optional<AgentReply> ask(AgentRequest request, Duration wait) {
    if (connection == null && !connect()) {
      return Optional.empty();
    }
    try {
      return Optional.of(connection.call(request, deadline.plus(wait)));
    } catch (IOException e) {
      disconnect(e);
      return Optional.empty();
    }
  }

  /** Returns whether there is a connection now. */
  private boolean connect() {
    if (nextTry - System.nanoTime() > 0) {
      return false;
    }
    try {
      connection = AgentProtocol.dialogue(UnixSocket.connect(socket, deadline));
      AgentReply.Welcome welcome = expect(AgentReply.Welcome.class, connection.call(
          new AgentRequest.Hello(AgentProtocol.VERSION, Software.name(), Protocol.probe()), deadline));
      // It welcomes when all that it copied for earlier connections is drained, and no other agent can have copies under
      // way where it listens.
      giveBack();
      agent = ProcessHandle.of(welcome.pid());
      expect(AgentReply.Opened.class, connection.call(new AgentRequest.Open(worker.instance, worker.incarnation,
          worker.namespace.digest(), worker.rank, worker.ranks, worker.whole, worker.blockTokens, worker.layout,
          worker.memory.toString()), deadline));
      pauseNanos = FIRST_PAUSE_NANOS;
      return true;
    } catch (IOException | RefusedException e) {
      disconnect(e);
      return false;
    }
  }

  private static <R extends AgentReply> R expect(Class<R> expected, AgentReply reply) throws IOException {
    if (reply instanceof AgentReply.Refused refused) {
      throw new RefusedException(refused.message());
    }
    if (!expected.isInstance(reply)) {
      throw new IOException("the agent replied with " + reply.getClass().getSimpleName() + ", which is no answer");
    }
    return expected.cast(reply);
  }

  private void disconnect(Exception cause) {
    LOG.log(Level.DEBUG, "the agent at {0} is gone without: {1}", socket, cause.getMessage());
    nextTry = System.nanoTime() + pauseNanos;
    pauseNanos = Math.min(LONGEST_PAUSE_NANOS, 2 * pauseNanos);
    hangUp();
  }

  private void hangUp() {
    doubtful.addAll(underWay.values());
    underWay.clear();
    if (connection != null) {
      try {
        connection.close();
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "the connection to the agent at {0} was not closed: {1}", socket, e.getMessage());
      }
      connection = null;
    }
  }

  /** Leaves the agent, in order if it answers in time. What is not reported then never is. */
  @Override
  public void close() {
    if (connection != null && ask(new AgentRequest.Close()).orElse(null) instanceof AgentReply.Done) {
      underWay.clear();
    }
    hangUp();
  }
}
