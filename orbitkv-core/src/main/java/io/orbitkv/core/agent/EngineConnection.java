package io.orbitkv.core.agent;

import io.orbitkv.api.Answer;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Lease;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.Ticket;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.EnginePages;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Software;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * One engine's connection, from its first word until nothing of it is under way. All requests are carried out on the
 * thread that calls {@link #serve}.
 */
final class EngineConnection {

  /** A layer takes tens of microseconds to arrive, and the device tells by being asked only. */
  private static final long LAYER_POLL_NANOS = 50_000;

  private final AgentOptions options;
  private final Duration openLimit;
  private final Dialogue<AgentRequest, AgentReply> connection;
  private final FaultLog faults;
  private final TransferTable transfers;
  private final Map<Long, Ticket> tickets = new HashMap<>();
  private final Map<Long, Lease> leases = new HashMap<>();
  private final SeriesTable series = new SeriesTable(AgentProtocol.MAX_SERIES, AgentProtocol.MAX_SERIES_BLOCKS);
  private ConnectionState state = ConnectionState.CONNECTED;
  private EnginePages pages;
  private CacheAttachment cache;
  private int rank;

  /**
   * @param openLimit how long the engine may wait with each request until it is open
   */
  EngineConnection(AgentOptions options, Duration openLimit, Dialogue<AgentRequest, AgentReply> connection,
      FaultLog faults) {
    this.options = options;
    this.openLimit = openLimit;
    this.connection = connection;
    this.faults = faults;
    this.transfers = new TransferTable(faults);
  }

  /** Carries out requests until the engine leaves or its connection breaks; then ends everything in order. */
  void serve() {
    try {
      boolean asked = converse();
      end();
      if (asked) {
        connection.answer(new AgentReply.Done());
      }
    } catch (IOException e) {
      // It has gone: nobody waits for the answer.
    } finally {
      end();
      closeConnection();
    }
  }

  /** Returns whether the engine asked to close, and waits for the answer. */
  private boolean converse() {
    try {
      while (true) {
        AgentReply reply;
        try {
          AgentRequest request = receive();
          if (request instanceof AgentRequest.Close) {
            return true;
          }
          reply = answer(request);
        } catch (RefusedException e) {
          reply = refusal(e);
        }
        connection.answer(reply);
      }
    } catch (MalformedException e) {
      faults.fault("an engine's connection is closed, since what it sent is no message", e);
    } catch (SocketTimeoutException e) {
      faults.fault("a connection is closed that did not open within "
          + openLimit.toMillis() + " ms and kept others waiting", e);
    } catch (IOException e) {
      // It left without a word, or the agent is being closed.
    }
    return false;
  }

  /** One engine is served at a time, so whoever connects and does not open must not keep others waiting. */
  private AgentRequest receive() throws IOException {
    if (state != ConnectionState.OPEN) {
      return connection.receive(openLimit);
    }
    connection.dropLimits();
    return connection.receive();
  }

  private AgentReply answer(AgentRequest request) {
    try {
      return switch (request) {
        case AgentRequest.Hello hello -> greet(hello);
        case AgentRequest.Open open -> open(open);
        case AgentRequest.Query query -> query(query);
        case AgentRequest.Poll poll -> poll(poll);
        case AgentRequest.CancelQuery cancel -> cancel(cancel);
        case AgentRequest.Release release -> release(release);
        case AgentRequest.Load load -> load(load);
        case AgentRequest.Save save -> save(save);
        case AgentRequest.LayerReady layer -> layerReady(layer);
        case AgentRequest.Progress progress -> progress(progress);
        case AgentRequest.Cancel cancel -> cancel(cancel);
        case AgentRequest.Forget forget -> forget(forget);
        case AgentRequest.Close _ -> throw new IllegalStateException("a close ends the conversation");
      };
    } catch (OrbitKvException e) {
      return refusal(e);
    } catch (RuntimeException e) {
      // An engine outlives a fault of its cache, also one that nobody thought of.
      faults.fault("unexpected " + e + " for " + request.getClass().getSimpleName(), e);
      return new AgentReply.Refused(Reply.Refusal.UNAVAILABLE, "unexpected " + e);
    }
  }

  private static AgentReply refusal(OrbitKvException e) {
    return new AgentReply.Refused(Reply.Refusal.of(e), e.getMessage());
  }

  private AgentReply greet(AgentRequest.Hello hello) {
    require(ConnectionState.CONNECTED, "Hello");
    if (hello.protocol() != AgentProtocol.VERSION) {
      throw new RefusedException(hello.software() + " speaks version " + hello.protocol() + " of the agent's protocol, "
          + Software.name() + " version " + AgentProtocol.VERSION + "; use one release of both");
    }
    if (!hello.probe().equals(Protocol.probe())) {
      throw new RefusedException(hello.software() + " hashes the probe's chain to " + hello.probe() + ", "
          + Software.name() + " to " + Protocol.probe() + ": they would not name the same blocks");
    }
    state = state.on(ConnectionState.Event.GREET);
    return new AgentReply.Welcome(AgentProtocol.VERSION, Software.name(), ProcessHandle.current().pid());
  }

  private AgentReply open(AgentRequest.Open open) {
    require(ConnectionState.GREETED, "Open");
    PoolLayout layout = open.layout();
    SessionSpec spec = new SessionSpec(open.instance(), new Namespace(open.namespace()),
        new ShardLayout(open.ranks(), layout.shardBytes()), open.blockTokens());
    if (open.rank() < 0 || open.rank() >= open.ranks()) {
      throw new RefusedException("rank " + open.rank() + " is not in 0 to " + (open.ranks() - 1));
    }
    if (open.whole() && open.ranks() != 1) {
      throw new RefusedException("a worker that is the whole instance has " + open.ranks() + " ranks, expected 1");
    }
    Membership membership = new Membership(open.incarnation(), open.whole() ? Membership.ALL_RANKS : open.rank());
    EnginePages opened = options.device().open(open.memory(), layout);
    CacheAttachment attachment =
        new CacheAttachment(options.cache(), spec, membership, faults, System::nanoTime);
    try {
      boolean attached = attachment.session().isPresent();
      pages = opened;
      cache = attachment;
      rank = open.rank();
      state = state.on(ConnectionState.Event.OPEN);
      return new AgentReply.Opened(attached);
    } finally {
      if (cache == null) {
        attachment.close();
        opened.close();
      }
    }
  }

  private AgentReply query(AgentRequest.Query query) {
    require(ConnectionState.OPEN, "Query");
    QueryId id = new QueryId(query.operation(), query.revision());
    Optional<Session> session = cache.session();
    if (session.isEmpty()) {
      return unserved();
    }
    if (!tickets.containsKey(id.operation()) && tickets.size() + leases.size() >= AgentProtocol.MAX_QUERIES) {
      return standing(Reply.Standing.BUSY, AgentProtocol.MAX_QUERIES + " queries and leases of this engine");
    }
    try {
      Ticket ticket = session.get().query(id, query.chain());
      tickets.put(id.operation(), ticket);
      return answer(ticket);
    } catch (UnavailableException | ClosedException e) {
      cache.failed("a query", e);
      return unserved();
    }
  }

  private AgentReply poll(AgentRequest.Poll poll) {
    require(ConnectionState.OPEN, "Poll");
    Ticket ticket = ticket(poll.operation(), poll.revision());
    try {
      return answer(ticket);
    } catch (UnavailableException | ClosedException e) {
      tickets.remove(poll.operation());
      cache.failed("a query", e);
      return unserved();
    }
  }

  private AgentReply cancel(AgentRequest.CancelQuery cancel) {
    require(ConnectionState.OPEN, "CancelQuery");
    Ticket ticket = tickets.get(cancel.operation());
    if (ticket != null && ticket.id().revision() == cancel.revision()) {
      tickets.remove(cancel.operation());
      try {
        ticket.cancel();
      } catch (UnavailableException | ClosedException e) {
        cache.failed("a cancelled query", e);
      }
    }
    return new AgentReply.Done();
  }

  private Ticket ticket(long operation, int revision) {
    QueryId id = new QueryId(operation, revision);
    Ticket ticket = tickets.get(operation);
    if (ticket == null || !ticket.id().equals(id)) {
      throw new RefusedException("query " + id + " is not under way: it was answered, cancelled or never asked");
    }
    return ticket;
  }

  private AgentReply answer(Ticket ticket) {
    Answer answer = ticket.poll();
    if (answer.isFinal()) {
      tickets.remove(ticket.id().operation());
    }
    return switch (answer) {
      case Answer.Pending pending -> new AgentReply.Answered(
          Reply.Standing.PENDING, 0, pending.dramBlocks(), pending.readingBlocks(), "");
      case Answer.Hit hit -> {
        leases.put(hit.lease().id(), hit.lease());
        yield new AgentReply.Answered(
            Reply.Standing.HIT, hit.lease().id(), hit.dramBlocks(), hit.ssdBlocks(), hit.ending().name());
      }
      case Answer.Miss miss -> standing(Reply.Standing.MISS, miss.reason().name());
      case Answer.Busy busy -> standing(Reply.Standing.BUSY, busy.bound());
      case Answer.Expired _ -> standing(Reply.Standing.EXPIRED, "");
      case Answer.Cancelled _ -> standing(Reply.Standing.CANCELLED, "");
    };
  }

  /** To an engine, no cache is a miss. */
  private static AgentReply unserved() {
    return standing(Reply.Standing.MISS, MissReason.UNAVAILABLE.name());
  }

  private static AgentReply standing(Reply.Standing standing, String reason) {
    return new AgentReply.Answered(standing, 0, 0, 0, reason);
  }

  private AgentReply release(AgentRequest.Release release) {
    require(ConnectionState.OPEN, "Release");
    Lease lease = leases.remove(release.lease());
    if (lease != null) {
      try {
        lease.close();
      } catch (UnavailableException | ClosedException e) {
        cache.failed("a released lease", e);
      }
    }
    return new AgentReply.Done();
  }

  private AgentReply load(AgentRequest.Load load) {
    require(ConnectionState.OPEN, "Load");
    requireRoom();
    requirePages(load.pages(), true);
    if (load.firstBlock() < 0) {
      throw new RefusedException("load begins at block " + load.firstBlock() + ", expected 0 or more");
    }
    Session session = cache.session().orElseThrow(
        () -> new UnavailableException("there is no cache at present; compute the blocks"));
    RestoreGrant grant = restore(session, load.lease());
    boolean started = false;
    try {
      int count = Math.clamp((long) grant.blocks() - load.firstBlock(), 0, load.pages().length);
      MemorySegment[] shards = new MemorySegment[count];
      for (int i = 0; i < count; i++) {
        shards[i] = grant.shard(load.firstBlock() + i);
      }
      EngineLoad begun = new EngineLoad(transfers.nextNumber(),
          options.device().restore(pages, Arrays.copyOf(load.pages(), count), shards, load.mark()), grant, count);
      started = true;
      enqueued(grant);
      transfers.add(begun);
      return new AgentReply.Started(begun.number(), count);
    } finally {
      if (!started) {
        grant.drained();
      }
    }
  }

  /** Said before the copies can be seen drained, since a drained grant has nothing more to hear. */
  private void enqueued(RestoreGrant grant) {
    try {
      grant.enqueued();
    } catch (UnavailableException | ClosedException e) {
      // The copies go on: what they read stays mapped and pinned.
      cache.failed("a load under way", e);
    }
  }

  private RestoreGrant restore(Session session, long number) {
    Lease own = leases.get(number);
    try {
      return own != null ? session.restore(own, rank) : session.restore(number, rank);
    } catch (UnavailableException | ClosedException e) {
      cache.failed("a load", e);
      throw e;
    }
  }

  private AgentReply save(AgentRequest.Save save) {
    require(ConnectionState.OPEN, "Save");
    requireRoom();
    requirePages(save.pages(), false);
    PrefixChain chain = series.continued(save.series(), save.known(), save.chain());
    int first = save.firstBlock();
    int end = first + save.pages().length;
    if (first < 0 || end < first || end > chain.blocks()) {
      throw new RefusedException("save of " + save.pages().length + " blocks from " + first + " of a chain of "
          + chain.blocks());
    }
    series.keep(save.series(), chain);
    Optional<Session> session = cache.session();
    if (session.isEmpty()) {
      return nothingSaved();
    }
    SaveGrant grant;
    try {
      grant = session.get().reserve(rank, chain, first, end);
    } catch (UnavailableException | ClosedException e) {
      cache.failed("a save", e);
      return nothingSaved();
    }
    boolean started = false;
    try {
      if (grant.wanted() == 0) {
        return new AgentReply.Started(0, grant.stored());
      }
      EngineSave begun = begin(save, grant);
      started = true;
      transfers.add(begun);
      return new AgentReply.Started(begun.number(), grant.wanted());
    } catch (UnavailableException e) {
      faults.fault("a save of " + save.pages().length + " blocks was not begun", e);
      return nothingSaved();
    } finally {
      if (!started) {
        abort(grant);
      }
    }
  }

  private AgentReply forget(AgentRequest.Forget forget) {
    require(ConnectionState.OPEN, "Forget");
    series.forget(forget.series());
    return new AgentReply.Done();
  }

  private EngineSave begin(AgentRequest.Save save, SaveGrant grant) {
    int count = grant.wanted();
    int[] blocks = new int[count];
    int[] pageIds = new int[count];
    MemorySegment[] shards = new MemorySegment[count];
    int next = 0;
    for (int i = 0; i < save.pages().length; i++) {
      int block = save.firstBlock() + i;
      if (grant.wants(block)) {
        blocks[next] = block;
        pageIds[next] = save.pages()[i];
        shards[next++] = grant.shard(block);
      }
    }
    return new EngineSave(transfers.nextNumber(), options.device().save(pages, pageIds, shards), grant, blocks);
  }

  private void abort(SaveGrant grant) {
    try {
      grant.close();
    } catch (UnavailableException | ClosedException e) {
      cache.failed("a save that was not begun", e);
    }
  }

  private static AgentReply nothingSaved() {
    return new AgentReply.Started(0, 0);
  }

  private AgentReply layerReady(AgentRequest.LayerReady request) {
    require(ConnectionState.OPEN, "LayerReady");
    if (!(transfers.find(request.transfer()).orElse(null) instanceof EngineLoad load)) {
      throw new RefusedException("transfer " + request.transfer() + " is no load, or was reported");
    }
    if (request.layer() < 0 || request.layer() >= pages.layout().layers()) {
      throw new RefusedException("layer " + request.layer() + " is not in 0 to " + (pages.layout().layers() - 1));
    }
    long deadline = System.nanoTime() + 1_000_000L * requireWait(request.millis());
    AgentReply.LayerStanding standing = load.layer(request.layer());
    while (standing == AgentReply.LayerStanding.COPYING && deadline - System.nanoTime() > 0) {
      LockSupport.parkNanos(LAYER_POLL_NANOS);
      standing = load.layer(request.layer());
    }
    return new AgentReply.Layer(standing);
  }

  private AgentReply progress(AgentRequest.Progress request) {
    require(ConnectionState.OPEN, "Progress");
    List<EngineTransfer> reports = report(requireWait(request.millis()));
    long[] numbers = new long[reports.size()];
    boolean[] loads = new boolean[reports.size()];
    int[] blocks = new int[reports.size()];
    for (int i = 0; i < numbers.length; i++) {
      EngineTransfer transfer = reports.get(i);
      numbers[i] = transfer.number();
      loads[i] = transfer instanceof EngineLoad;
      blocks[i] = transfer.blocks();
    }
    return new AgentReply.Finished(numbers, loads, blocks);
  }

  private List<EngineTransfer> report(int millis) {
    try {
      return transfers.report(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return List.of();
    }
  }

  private AgentReply cancel(AgentRequest.Cancel cancel) {
    require(ConnectionState.OPEN, "Cancel");
    transfers.find(cancel.transfer()).ifPresent(EngineTransfer::cancel);
    return new AgentReply.Done();
  }

  private void require(ConnectionState expected, String request) {
    if (state != expected) {
      throw new RefusedException(request + " came in state " + state + ", expected " + expected
          + "; an engine says Hello once, Open once, and then the rest");
    }
  }

  private void requireRoom() {
    if (!transfers.hasRoom()) {
      throw new UnavailableException("this engine has " + AgentProtocol.MAX_TRANSFERS
          + " loads and saves under way or not asked for; ask for their progress first");
    }
  }

  /** Refuses what the device would refuse, before anything is granted for it. */
  private void requirePages(int[] pageIds, boolean distinct) {
    int count = pages.layout().pages();
    BitSet seen = new BitSet(distinct ? count : 0);
    for (int i = 0; i < pageIds.length; i++) {
      int page = pageIds[i];
      if (page < 0 || page >= count) {
        throw new RefusedException("page " + page + " of block " + i + " is not in 0 to " + (count - 1));
      }
      if (distinct) {
        if (seen.get(page)) {
          throw new RefusedException("page " + page + " is the target of two blocks, expected different pages");
        }
        seen.set(page);
      }
    }
  }

  private static int requireWait(int millis) {
    if (millis < 0 || millis > AgentProtocol.MAX_WAIT_MILLIS) {
      throw new RefusedException("wait of " + millis + " ms is not in 0 to " + AgentProtocol.MAX_WAIT_MILLIS);
    }
    return millis;
  }

  /** Drains, ends every grant, then the session, then gives up the pages. In this order, once. */
  private void end() {
    if (state == ConnectionState.ENDED) {
      return;
    }
    state = state.on(ConnectionState.Event.LEAVE);
    transfers.close();
    if (cache != null) {
      cache.close();
      pages.close();
    }
    state = state.on(ConnectionState.Event.END);
  }

  private void closeConnection() {
    try {
      connection.close();
    } catch (IOException e) {
      faults.fault("an engine's connection was not closed", e);
    }
  }
}
