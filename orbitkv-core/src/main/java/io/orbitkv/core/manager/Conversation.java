package io.orbitkv.core.manager;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Digest;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.lifecycle.RestoreState;
import io.orbitkv.core.machine.CacheCore;
import io.orbitkv.core.machine.CoreLease;
import io.orbitkv.core.machine.CoreRestore;
import io.orbitkv.core.machine.CoreSave;
import io.orbitkv.core.machine.CoreTicket;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Reply.Answered;
import io.orbitkv.core.wire.Reply.Refusal;
import io.orbitkv.core.wire.Reply.Standing;
import io.orbitkv.core.wire.Request;
import io.orbitkv.core.wire.Software;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * One connection's side of the Manager: what it was granted, and what each of its requests comes to. Its methods are
 * called by the connection's thread; what it knows is touched in turns only, since another connection may settle it.
 *
 * <p>Nothing here sends or waits for the other side, so a peer that stops holds up nobody.
 */
final class Conversation {

  /** Answers of queries kept for a poll that may never come; those that ended are forgotten beyond it. */
  private static final int ASKED_REMEMBERED = 512;

  private static final Duration MOST_FLUSH = Duration.ofSeconds(1);

  /** A query that was pending when it was last answered. */
  private record Asked(QueryId id, CoreTicket ticket) {}

  private final Manager manager;
  private final Map<Long, Grant> grants = new HashMap<>();
  private final Map<Long, Asked> asked = new HashMap<>();
  /** Every member that this connection was and that still has grants, besides the one that it is. */
  private final Set<Member> formerly = new HashSet<>();
  private Peer peer;
  private Member member;
  private boolean witnessed;
  private boolean ended;
  /** Of the instance that it is a member of; its own before it is one. Set and read by the connection's thread. */
  private Lock gate = new ReentrantLock();

  Conversation(Manager manager) {
    this.manager = manager;
  }

  /** Returns the reply to a request. */
  Reply answer(Request request) {
    try {
      return switch (request) {
        case Request.Hello hello -> hello(hello);
        case Request _ when peer == null -> refused("hello", "a connection begins with it");
        case Request.Register register -> register(register);
        case Request.Query query -> turn(() -> query(query));
        case Request.Poll poll -> turn(() -> poll(poll));
        case Request.Cancel cancel -> lastTurn(() -> cancel(cancel));
        case Request.Release release -> lastTurn(() -> release(release));
        case Request.Restore restore -> restore(restore);
        case Request.Enqueued enqueued -> lastTurn(() -> enqueued(enqueued.grant()));
        case Request.Drained drained -> lastTurn(() -> drained(drained.grant()));
        case Request.Reserve reserve -> reserve(reserve);
        case Request.Commit commit -> lastTurn(() -> commit(commit));
        case Request.Abort abort -> lastTurn(() -> abort(abort.grant()));
        case Request.Settle settle -> manager.lastTurn(() -> settle(settle.member()));
        case Request.Stats _ -> new Reply.Statistics(manager.turn(manager.core()::stats));
        case Request.Flush flush -> flush(flush);
        case Request.Follow follow -> turn(() -> follow(follow));
        case Request.Leave leave -> manager.lastTurn(() -> leave(leave.generation()));
      };
    } catch (RefusedException e) {
      return new Reply.Refused(Refusal.REFUSED, e.getMessage());
    } catch (UnavailableException e) {
      return new Reply.Refused(Refusal.UNAVAILABLE, e.getMessage());
    } catch (ClosedException e) {
      return new Reply.Refused(Refusal.CLOSED, e.getMessage());
    }
  }

  /** Begins something, in a turn that the instance waits for with one connection at a time. */
  private Reply turn(Supplier<Reply> action) {
    gate.lock();
    try {
      return manager.turn(action);
    } finally {
      gate.unlock();
    }
  }

  /** As {@link #turn}, for what ends something, also while the Manager closes. */
  private Reply lastTurn(Supplier<Reply> action) {
    gate.lock();
    try {
      return manager.lastTurn(action);
    } finally {
      gate.unlock();
    }
  }

  /** The connection has ended: whatever it did not end itself may still be in use. */
  void broke() {
    manager.lastTurn(() -> {
      end();
      return new Reply.Done();
    });
  }

  private void end() {
    if (ended) {
      return;
    }
    ended = true;
    Set<Member> members = new HashSet<>(formerly);
    if (member != null) {
      members.add(member);
    }
    for (Member each : members) {
      List<Grant> held = grants.values().stream().filter(grant -> grant.member().equals(each)).toList();
      boolean quarantined = manager.registry().broke(each, !held.isEmpty(), held.stream().mapToLong(grant ->
          switch (grant) {
            case Grant.Restore restore -> restore.restore().bytes();
            case Grant.Save save -> save.save().bytes();
          }).sum());
      manager.conversations().remove(each.number());
      if (quarantined) {
        manager.caretaker().wake();
      } else {
        manager.caretaker().forget(each.witness());
      }
    }
    grants.clear();
    asked.clear();
  }

  // ---- registration

  private Reply hello(Request.Hello hello) {
    if (peer != null) {
      return refused("hello", "it was said already");
    }
    if (hello.protocol() != Protocol.VERSION) {
      throw new RefusedException("'" + hello.software() + "' speaks protocol " + hello.protocol() + ", and '"
          + Software.name() + "' speaks " + Protocol.VERSION + "; install the same release on both sides");
    }
    Digest probe = Protocol.probe();
    if (!hello.probe().equals(probe)) {
      throw new RefusedException("'" + hello.software() + "' hashes the probe to " + hello.probe().toHex() + ", and '"
          + Software.name() + "' to " + probe.toHex() + "; install the same release on both sides");
    }
    peer = Peer.of(hello, manager.processes());
    RuntimeFolder folder = manager.folder();
    try {
      return new Reply.Welcome(Protocol.VERSION, Software.name(), manager.incarnation(),
          folder.arena().getFileName().toString(), Files.size(folder.arena()));
    } catch (IOException e) {
      throw new UnavailableException("arena " + folder.arena() + " cannot be read: " + e.getMessage(), e);
    }
  }

  private Reply register(Request.Register register) {
    SessionSpec spec = new SessionSpec(register.instance(), new Namespace(register.namespace()),
        new ShardLayout(register.ranks(), register.shardBytes()), register.blockTokens());
    long number = manager.nextNumber();
    Path witness;
    try {
      witness = manager.folder().createWitness(number);
    } catch (IOException e) {
      throw new UnavailableException("no witness can be made in the runtime folder: " + e.getMessage(), e);
    }
    boolean registered = false;
    try {
      Reply reply = manager.turn(() -> register(register, spec, number, witness));
      registered = reply instanceof Reply.Registered;
      return reply;
    } finally {
      if (!registered) {
        manager.caretaker().forget(witness);
      }
    }
  }

  private Reply register(Request.Register register, SessionSpec spec, long number, Path witness) {
    if (manager.isDraining()) {
      throw new UnavailableException("the Manager is draining and takes no registrations; wait for its restart");
    }
    if (ended) {
      throw new ClosedException("the connection has ended and cannot register");
    }
    if (member != null && member.generation().isLive()) {
      throw new RefusedException("this connection is " + member + " already; leave first, or open another");
    }
    Generation generation = manager.registry().join(register, spec);
    if (member != null) {
      retireMember();
    }
    member = new Member(number, generation, register.member(), peer, witness, peer.proof(manager.processes(), witness));
    witnessed = peer.visible();
    generation.add(member);
    gate = generation.gate();
    manager.conversations().put(number, this);
    asked.clear();
    return new Reply.Registered(generation.number(), number, witness.getFileName().toString(), generation.missing());
  }

  /** What was granted to the member that this connection was stays until it ends it. */
  private void retireMember() {
    if (holds(member)) {
      formerly.add(member);
    } else {
      manager.conversations().remove(member.number());
      manager.caretaker().forget(member.witness());
    }
  }

  private boolean holds(Member one) {
    return grants.values().stream().anyMatch(grant -> grant.member().equals(one));
  }

  private Reply leave(long generation) {
    Reply problem = problemOf(generation);
    if (problem == null) {
      manager.registry().leave(member.generation());
    }
    return problem == null ? new Reply.Done() : problem;
  }

  private Reply settle(long number) {
    Member lost = manager.registry().lostMember(number);
    Conversation earlier = manager.conversations().get(number);
    Member whose = lost != null ? lost : earlier == null ? null : earlier.memberOf(number);
    if (whose == null || earlier == this) {
      return refused("settle of member " + number, "it is no earlier member whose grants are not ended");
    }
    if (!whose.process().isSameProcess(peer)) {
      return refused("settle of member " + number, "it is process " + whose.process().pid()
          + ", and only the process that was granted something can say that it is done with it");
    }
    if (earlier != null) {
      // Its connection is cut and this was not noticed yet.
      earlier.end();
    }
    manager.registry().gone(whose);
    manager.caretaker().forget(whose.witness());
    return new Reply.Done();
  }

  private Member memberOf(long number) {
    return member != null && member.number() == number
        ? member
        : formerly.stream().filter(each -> each.number() == number).findAny().orElse(null);
  }

  /** Returns why nothing can begin under a generation, or null if it can. */
  private Reply problemOf(long number) {
    if (member == null) {
      return refused("generation " + number, "this connection has not registered");
    }
    Generation generation = member.generation();
    String name = "generation " + number + " of instance '" + generation.spec().instance() + "'";
    if (number != generation.number()) {
      return new Reply.Refused(
          Refusal.SUPERSEDED, name + " is not this connection's, which is " + generation.number());
    }
    return switch (generation.ending()) {
      case NONE -> null;
      case LEFT -> new Reply.Refused(Refusal.CLOSED, name + " has left");
      case REPLACED -> new Reply.Refused(Refusal.SUPERSEDED, name + " was replaced by a later registration");
      case BROKEN -> new Reply.Refused(Refusal.SUPERSEDED, name + " lost a member; register again");
    };
  }

  private static Reply refused(String what, String why) {
    return new Reply.Refused(Refusal.REFUSED, what + " is refused: " + why);
  }

  /** Returns why the ranks' part is not this member's, or null if it is. */
  private Reply problemOf(int rank) {
    return member.role() == Protocol.ALL_RANKS || member.role() == rank
        ? null
        : refused("a transfer of rank " + rank, "this connection is " + member);
  }

  // ---- queries

  private Reply query(Request.Query query) {
    Reply problem = problemOfAsking(query.generation());
    if (problem != null) {
      return problem;
    }
    QueryId id = new QueryId(query.operation(), query.revision());
    Generation generation = member.generation();
    if (generation.missing() > 0) {
      return busy(generation.ranksIn() + " of " + generation.spec().layout().ranks() + " ranks registered");
    }
    if (manager.isDraining()) {
      return busy("the Manager is draining");
    }
    Asked before = asked.get(id.operation());
    if (before != null && before.id.equals(id) && before.ticket.isFor(query.chain())) {
      return standing(before.ticket, before);
    }
    CoreTicket ticket = manager.core().query(generation.session(), id, query.chain());
    asked.remove(id.operation());
    return standing(ticket, new Asked(id, ticket));
  }

  private Reply poll(Request.Poll poll) {
    Reply problem = problemOfAsking(poll.generation());
    if (problem != null) {
      return problem;
    }
    QueryId id = new QueryId(poll.operation(), poll.revision());
    Asked before = asked.get(id.operation());
    if (before == null || !before.id.equals(id)) {
      return refused("poll of query " + id, "it is not pending");
    }
    return standing(before.ticket, before);
  }

  private Reply cancel(Request.Cancel cancel) {
    Reply problem = problemOfAsking(cancel.generation());
    if (problem != null) {
      return problem;
    }
    QueryId id = new QueryId(cancel.operation(), cancel.revision());
    Asked before = asked.get(id.operation());
    if (before != null && before.id.equals(id)) {
      asked.remove(id.operation());
      manager.core().cancel(before.ticket);
    }
    return new Reply.Done();
  }

  private Reply problemOfAsking(long generation) {
    Reply problem = problemOf(generation);
    if (problem != null) {
      return problem;
    }
    return member.role() == Protocol.ALL_RANKS || member.role() == Protocol.SCHEDULER
        ? null
        : refused("a query", "this connection is " + member + ", and its scheduler asks");
  }

  private Reply standing(CoreTicket ticket, Asked question) {
    return switch (ticket.state()) {
      case READY -> {
        asked.remove(question.id.operation());
        int inMemory = ticket.hitInMemory();
        CoreLease lease = manager.core().claim(ticket);
        yield new Answered(Standing.HIT, lease.id(), lease.bytes(), inMemory, lease.blocks() - inMemory,
            ticket.ending().name(), "");
      }
      case SUBMITTED, PENDING -> {
        manager.core().polled(ticket);
        remember(question);
        yield new Answered(Standing.PENDING, 0, 0, ticket.hitInMemory(), ticket.missing(), "", "");
      }
      case DELIVERED -> {
        asked.remove(question.id.operation());
        yield ticket.isMiss()
            ? new Answered(Standing.MISS, 0, 0, 0, 0, ticket.ending().name(), "")
            : ended(Standing.CANCELLED);
      }
      case BUSY -> busy(ticket.busy());
      case EXPIRED -> ended(Standing.EXPIRED);
      case CANCELLED -> ended(Standing.CANCELLED);
    };
  }

  private void remember(Asked question) {
    if (asked.size() >= ASKED_REMEMBERED) {
      asked.values().removeIf(each -> each.ticket.state().isFinal());
    }
    asked.put(question.id.operation(), question);
  }

  private static Answered busy(String bound) {
    return new Answered(Standing.BUSY, 0, 0, 0, 0, MissReason.NONE.name(), bound);
  }

  private static Answered ended(Standing standing) {
    return new Answered(standing, 0, 0, 0, 0, MissReason.NONE.name(), "");
  }

  private Reply release(Request.Release release) {
    Reply problem = problemOfAsking(release.generation());
    if (problem != null) {
      return problem;
    }
    CacheCore core = manager.core();
    core.lease(member.generation().session(), release.lease()).ifPresent(core::close);
    return new Reply.Done();
  }

  private Reply follow(Request.Follow follow) {
    Reply problem = problemOfAsking(follow.generation());
    if (problem != null) {
      return problem;
    }
    Departures told = manager.core().departures(member.generation().session(), follow.cursor());
    return new Reply.Departed(told.cursor(), told.all(), PrefixChain.of(told.blocks()));
  }

  // ---- transfers

  private Reply restore(Request.Restore restore) {
    requireWitness();
    return turn(() -> {
      Reply problem = problemOf(restore.generation());
      problem = problem == null ? problemOf(restore.rank()) : problem;
      if (problem != null) {
        return problem;
      }
      CoreRestore granted =
          manager.core().restore(member.generation().session(), restore.lease(), restore.rank());
      long[] shardsAt = new long[granted.blocks()];
      for (int block = 0; block < shardsAt.length; block++) {
        shardsAt[block] = granted.shardAt(block);
      }
      return granted(new Grant.Restore(member, granted), shardsAt);
    });
  }

  private Reply reserve(Request.Reserve reserve) {
    requireWitness();
    return turn(() -> {
      Reply problem = problemOf(reserve.generation());
      problem = problem == null ? problemOf(reserve.rank()) : problem;
      if (problem != null) {
        return problem;
      }
      Generation generation = member.generation();
      if (generation.missing() > 0 || manager.isDraining()) {
        return unwanted(reserve);
      }
      CoreSave save = manager.core().reserve(
          generation.session(), reserve.rank(), reserve.chain(), reserve.from(), reserve.to());
      long[] shardsAt = new long[save.blocks()];
      for (int i = 0; i < shardsAt.length; i++) {
        int block = save.first() + i;
        shardsAt[i] = save.wants(block) ? save.shardAt(block)
            : save.isStored(block) ? Protocol.STORED : Protocol.UNWANTED;
      }
      return save.wanted() == 0 ? new Reply.Granted(0, shardsAt) : granted(new Grant.Save(member, save), shardsAt);
    });
  }

  private static Reply unwanted(Request.Reserve reserve) {
    if (reserve.from() < 0 || reserve.from() > reserve.to() || reserve.to() > reserve.chain().blocks()) {
      throw new RefusedException(
          "save of blocks " + reserve.from() + " to " + reserve.to() + " of a " + reserve.chain());
    }
    long[] shardsAt = new long[reserve.to() - reserve.from()];
    Arrays.fill(shardsAt, Protocol.UNWANTED);
    return new Reply.Granted(0, shardsAt);
  }

  private Reply granted(Grant grant, long[] shardsAt) {
    long number = manager.nextNumber();
    grants.put(number, grant);
    return new Reply.Granted(number, shardsAt);
  }

  /**
   * Where the death of a process is known by its lock only, it must have the lock before it is granted anything: without
   * it, it would look dead.
   */
  private void requireWitness() {
    if (member != null && !witnessed) {
      if (member.proof().isGiven()) {
        throw new RefusedException("witness " + member.witness().getFileName() + " is not locked; lock it for as long as "
            + "the process lives, before it transfers anything");
      }
      witnessed = true;
    }
  }

  private Reply enqueued(long number) {
    if (!(grants.get(number) instanceof Grant.Restore grant)) {
      return notHeld(number, "restore");
    }
    if (grant.restore().state() != RestoreState.GRANTED) {
      return refused("restore " + number, "it is enqueued already");
    }
    manager.core().enqueued(grant.restore());
    return new Reply.Done();
  }

  private Reply drained(long number) {
    if (!(grants.get(number) instanceof Grant.Restore grant)) {
      return notHeld(number, "restore");
    }
    forget(number, grant);
    manager.core().drained(grant.restore());
    return new Reply.Done();
  }

  private Reply commit(Request.Commit commit) {
    if (!(grants.get(commit.grant()) instanceof Grant.Save grant)) {
      return notHeld(commit.grant(), "save");
    }
    CoreSave save = grant.save();
    Generation generation = grant.member().generation();
    int committed = 0;
    if (generation.isLive() || generation.ending() == Generation.Ending.LEFT) {
      committed = manager.core().commit(save, commit.crcs(), commit.copied());
    } else {
      manager.core().abort(save);
    }
    forget(commit.grant(), grant);
    return new Reply.Committed(committed);
  }

  private Reply abort(long number) {
    if (!(grants.get(number) instanceof Grant.Save grant)) {
      return notHeld(number, "save");
    }
    forget(number, grant);
    manager.core().abort(grant.save());
    return new Reply.Done();
  }

  private static Reply notHeld(long number, String kind) {
    return refused(kind + " " + number, "this connection holds no such grant");
  }

  private void forget(long number, Grant grant) {
    grants.remove(number);
    if (formerly.contains(grant.member()) && !holds(grant.member())) {
      formerly.remove(grant.member());
      manager.conversations().remove(grant.member().number());
      manager.caretaker().forget(grant.member().witness());
    }
  }

  private Reply flush(Request.Flush flush) {
    if (flush.millis() < 0 || flush.millis() > MOST_FLUSH.toMillis()) {
      throw new RefusedException(
          "flush of " + flush.millis() + " ms, expected 0 to " + MOST_FLUSH.toMillis() + "; ask again instead");
    }
    try {
      return new Reply.Flushed(manager.flush(Duration.ofMillis(flush.millis())));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new Reply.Flushed(false);
    }
  }
}
