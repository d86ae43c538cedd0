package io.orbitkv.core.manager;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.RecoveryReport;
import io.orbitkv.core.CacheBuilder;
import io.orbitkv.core.assembly.CacheParts;
import io.orbitkv.core.assembly.RunningCache;
import io.orbitkv.core.machine.CacheCore;
import io.orbitkv.core.wire.Connection;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Software;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import jdk.net.ExtendedSocketOptions;

/**
 * A cache that other processes attach to: it owns memory and SSD of a host, and serves the members of engine instances
 * over a Unix socket. Bytes of blocks move through the shared arena only, by their holders.
 *
 * <p>Each connection has a thread, and on it takes its turns of the core. A peer that does not read, or is stopped,
 * holds up its own thread and nobody else's.
 *
 * <p>Thread-safe.
 */
public final class Manager implements Operated, AutoCloseable {

  private static final int BACKLOG = 128;
  private static final long EVICTED_AT_ONCE = 16L << 20;
  private static final Duration CONNECTIONS_LIMIT = Duration.ofSeconds(2);

  private static final Logger LOG = System.getLogger(Manager.class.getName());

  private final RunningCache running;
  private final RuntimeFolder folder;
  private final String user;
  private final ServerSocketChannel listening;
  private final Thread acceptor;
  private final int mostConnections;
  private final Duration grantsLimit;
  private final long incarnation = new SecureRandom().nextLong(1, Long.MAX_VALUE);
  private final long startedAt = System.currentTimeMillis();
  private final Processes processes = new Processes(Path.of("/proc"));
  private final Caretaker caretaker = new Caretaker(this);
  private final Set<ServedConnection> connections = ConcurrentHashMap.newKeySet();

  // Touched in turns only.
  private final Registry registry;
  private final Map<Long, Conversation> conversations = new HashMap<>();
  private final EventTimes times = new EventTimes();

  private final AtomicLong lastNumber = new AtomicLong();
  private volatile boolean draining;
  private volatile ManagerStatus last;

  Manager(Builder builder, CacheParts parts) {
    this.mostConnections = builder.connections;
    this.grantsLimit = builder.grantsLimit;
    this.running = RunningCache.open(parts);
    try {
      this.registry = new Registry(running.core(), caretaker::say);
      this.folder = new RuntimeFolder(running.memory());
      this.user = folder.owner();
      this.listening = folder.listen(BACKLOG);
    } catch (IOException | RuntimeException e) {
      running.close();
      running.closeMemory();
      throw e instanceof RuntimeException refusal
          ? refusal
          : new UnavailableException("the runtime folder cannot be used: " + e.getMessage(), e);
    }
    this.acceptor = Thread.ofPlatform().daemon().name("orbitkv-acceptor").unstarted(this::accept);
    caretaker.start();
    acceptor.start();
  }

  /** Returns a builder with the defaults, and no memory size. */
  public static Builder builder() {
    return new Builder();
  }

  /** Returns the socket that clients connect to. */
  public Path socket() {
    return folder.socket();
  }

  /** Returns what was found on the SSD at the start, if there is one. */
  public Optional<RecoveryReport> recovery() {
    return running.recovery();
  }

  /** Returns what the memory is, in words. */
  public String describeMemory() {
    return running.memory().describe();
  }

  // ---- operating

  @Override
  public ManagerStatus status() {
    return running.lastTurn(this::statusNow, null) instanceof ManagerStatus now ? now : last;
  }

  private ManagerStatus statusNow() {
    CacheStats stats = running.core().stats();
    List<String> degraded = new ArrayList<>();
    if (stats.ssdHealth().equals("read-only") || stats.ssdHealth().equals("off")) {
      degraded.add("SSD is " + stats.ssdHealth() + ": it failed too often, see the faults");
    }
    if (!registry.lostMembers().isEmpty()) {
      degraded.add(registry.lostMembers().size() + " lost members hold " + new ByteSize(stats.quarantinedBytes())
          + " of memory in quarantine");
    }
    return new ManagerStatus(incarnation, Software.name(), startedAt, !draining, degraded, draining, stats,
        registry.instances(), registry.quarantine(), times.quantile(0.99), times.events());
  }

  @Override
  public void drain() {
    running.lastTurn(() -> {
      if (!draining) {
        draining = true;
        caretaker.say(Level.INFO, "draining: nothing new is admitted");
      }
    });
  }

  @Override
  public boolean flush(Duration limit) throws InterruptedException {
    return running.flush(limit);
  }

  @Override
  public long evict(ByteSize bytes) {
    long freed = 0;
    long part;
    long more;
    do {
      // In parts, since all of it in one turn would hold up lookups.
      part = Math.min(EVICTED_AT_ONCE, bytes.bytes() - freed);
      long wanted = part;
      more = turn(() -> core().evictMemory(wanted));
      freed += more;
    } while (more >= part && freed < bytes.bytes());
    return freed;
  }

  @Override
  public long drop(Namespace namespace) {
    return turn(() -> core().drop(namespace));
  }

  /**
   * Shuts down: admits nothing, waits a while for grants that are held, writes what is to be written, closes every
   * connection, gives memory back and removes the socket. A grant that is held beyond that is its holder's to end: its
   * own mapping of the arena stays as it is. Idempotent.
   */
  @Override
  public void close() {
    drain();
    boolean interrupted = false;
    try {
      if (!running.awaitGrants(grantsLimit)) {
        LOG.log(Level.WARNING, "the Manager is closed while grants are held; their holders keep what they mapped");
      }
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (!running.stopAdmitting()) {
      return;
    }
    try {
      running.settleStore();
    } catch (InterruptedException e) {
      interrupted = true;
    }
    // Instances end because the Manager does, so none of them is lost when its connection is closed.
    running.lastTurn(registry::closeAll);
    closeConnections();
    running.lastTurn(() -> {
      last = ended(statusNow());
    });
    running.close();
    caretaker.close();
    folder.clear();
    running.closeMemory();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void closeConnections() {
    try {
      listening.close();
    } catch (IOException e) {
      LOG.log(Level.WARNING, "socket {0} was not closed: {1}", folder.socket(), e.getMessage());
    }
    try {
      // So that none is begun after those that are closed here; what it does waits for no peer.
      acceptor.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    connections.forEach(ServedConnection::close);
    long deadline = System.nanoTime() + CONNECTIONS_LIMIT.toNanos();
    try {
      for (ServedConnection connection : connections) {
        connection.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Nothing is held, charged or mapped any more. */
  private static ManagerStatus ended(ManagerStatus before) {
    CacheStats stats = before.cache();
    CacheStats none = new CacheStats(stats.queries(), stats.blocksQueried(), stats.blocksHitDram(),
        stats.blocksHitSsd(), stats.blocksMissed(), stats.missed(), stats.blocksSaved(), stats.tokensQueried(),
        stats.tokensHitDram(), stats.tokensHitSsd(), stats.bytesSaved(), stats.bytesRestored(), 0, 0, 0, 0, 0, 0, 0, 0,
        stats.faults(), stats.ssdHealth());
    return new ManagerStatus(before.incarnation(), before.software(), before.startedAtEpochMillis(), false, List.of(),
        true, none, List.of(), List.of(), before.coreEventP99Nanos(), before.coreEvents());
  }

  // ---- connections

  private void accept() {
    long number = 0;
    while (listening.isOpen()) {
      try {
        SocketChannel channel = listening.accept();
        admit(channel, ++number);
      } catch (ClosedChannelException e) {
        return;
      } catch (IOException e) {
        caretaker.say(Level.WARNING, "a connection cannot be accepted: " + e.getMessage());
        LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
      }
    }
  }

  private void admit(SocketChannel channel, long number) throws IOException {
    Reply.Refused refusal = refusalOf(channel);
    if (refusal != null) {
      // Its buffer is empty, so this does not wait for the other side.
      Connection refused = new Connection(channel, Protocol.MAX_FRAME_BYTES);
      try {
        refused.send(refusal);
      } finally {
        caretaker.closeSoon(refused);
      }
      return;
    }
    ServedConnection connection = new ServedConnection(this, channel, number);
    connections.add(connection);
    connection.start();
    caretaker.wake();
  }

  private Reply.Refused refusalOf(SocketChannel channel) throws IOException {
    String peer = channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user().getName();
    if (!peer.equals(user) && !peer.equals("root")) {
      caretaker.say(Level.WARNING, "a connection of user " + peer + " is refused: the cache is " + user + "'s");
      return new Reply.Refused(Reply.Refusal.REFUSED, "the cache is user " + user + "'s, and you are " + peer);
    }
    if (connections.size() >= mostConnections) {
      caretaker.say(Level.WARNING, "a connection is refused: there are " + mostConnections + ", which is the limit");
      return new Reply.Refused(Reply.Refusal.UNAVAILABLE,
          "there are " + mostConnections + " connections, which is the limit; close some, or raise it");
    }
    return null;
  }

  void ended(ServedConnection connection) {
    connections.remove(connection);
  }

  /** Returns whether a connection has not said hello yet; cuts those that had the time to. */
  boolean cutSilentConnections() {
    boolean silent = false;
    for (ServedConnection connection : connections) {
      silent |= connection.isSilent();
    }
    return silent;
  }

  // ---- turns

  /** Carries out a request that begins something. */
  <T> T turn(Supplier<T> action) {
    return running.turn(() -> timed(action));
  }

  /** Carries out a request that ends something, also while the Manager closes. */
  Reply lastTurn(Supplier<Reply> action) {
    Reply reply = running.lastTurn(() -> timed(action), null);
    if (reply == null) {
      throw new ClosedException("the Manager is closed");
    }
    return reply;
  }

  private <T> T timed(Supplier<T> action) {
    long start = System.nanoTime();
    try {
      return action.get();
    } finally {
      times.record(System.nanoTime() - start);
    }
  }

  List<Member> lostMembers() {
    return running.lastTurn(registry::lostMembers, List.of());
  }

  /** A lost member's death is proven. */
  void gone(Member member) {
    running.lastTurn(() -> registry.gone(member));
    caretaker.forget(member.witness());
  }

  /** Returns a number that was not used before, for a member or a grant. */
  long nextNumber() {
    return lastNumber.incrementAndGet();
  }

  CacheCore core() {
    return running.core();
  }

  Registry registry() {
    return registry;
  }

  /** Returns who speaks for a member, by its number. */
  Map<Long, Conversation> conversations() {
    return conversations;
  }

  Caretaker caretaker() {
    return caretaker;
  }

  RuntimeFolder folder() {
    return folder;
  }

  Processes processes() {
    return processes;
  }

  long incarnation() {
    return incarnation;
  }

  boolean isDraining() {
    return draining;
  }

  /** Says how a Manager is made. Not thread-safe. */
  public static final class Builder extends CacheBuilder<Builder> {

    /** The memory used unless another is named: a file in the runtime folder, which members map. */
    public static final String DEFAULT_MEMORY = "shared";

    /** Connections at once unless said otherwise. */
    public static final int DEFAULT_CONNECTIONS = 256;

    private int connections = DEFAULT_CONNECTIONS;
    private ByteSize instanceLeaseBudget;
    private Duration grantsLimit = Duration.ofSeconds(5);

    private Builder() {
      super(DEFAULT_MEMORY);
    }

    @Override
    protected Builder self() {
      return this;
    }

    /** Bounds the connections at once; one more is refused. */
    public Builder connections(int most) {
      if (most < 1) {
        throw new RefusedException("connections are bounded by " + most + ", expected at least 1");
      }
      this.connections = most;
      return this;
    }

    /**
     * Bounds the bytes that leases and pending reads of one instance may hold; half of those of all if not said, so that
     * one instance cannot take all.
     */
    public Builder instanceLeaseBudget(ByteSize one) {
      this.instanceLeaseBudget = one;
      return this;
    }

    /** Sets how long closing waits for grants that are held; 5 s if not said. */
    public Builder grantsLimit(Duration limit) {
      this.grantsLimit = limit;
      return this;
    }

    /**
     * Opens the cache and begins to listen.
     *
     * @throws RefusedException if a name, a size or a setting is wrong
     * @throws UnavailableException if the machine does not grant what is asked for, or another Manager owns
     *     the runtime folder; the message names its process
     */
    public Manager open() {
      CacheParts parts = parts();
      long one = instanceLeaseBudget == null
          ? Math.max(1, parts.limits().leaseBytes() / 2)
          : instanceLeaseBudget.bytes();
      // So that what one instance leases and saves leaves others the memory that they may lease.
      long saving = Math.max(1, parts.limits().sessionFillBytes() / 4);
      return new Manager(
          this, parts.withLimits(parts.limits().withSessionLeaseBytes(one).withSessionFillBytes(saving)));
    }
  }
}
