package io.orbitkv.core.manager;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.wire.Connection;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.Request;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/** A member that speaks the protocol word by word. */
final class Caller implements AutoCloseable {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  final SocketChannel channel;
  private final Connection connection;
  private long generation;
  private long member;
  private String witness;

  private Caller(SocketChannel channel) {
    this.channel = channel;
    this.connection = new Connection(channel, Protocol.MAX_FRAME_BYTES);
  }

  static Caller silent(Path socket) {
    try {
      return new Caller(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Caller greeted(Path socket) {
    Caller caller = silent(socket);
    assertThat(caller.call(hello())).isInstanceOf(Reply.Welcome.class);
    return caller;
  }

  static Request.Hello hello() {
    return new Request.Hello(
        Protocol.VERSION, "test", ProcessHandle.current().pid(), ownNamespace(), Protocol.probe());
  }

  static long ownNamespace() {
    return new Processes(Path.of("/proc")).ownNamespace();
  }

  Reply call(Request request) {
    try {
      return connection.call(request, LIMIT);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends a request and does not read the reply. */
  void send(Request request) throws IOException {
    connection.send(request);
  }

  Reply receive() throws IOException {
    return connection.receiveReply(LIMIT);
  }

  static Request.Register registration(String instance, long incarnation, int ranks, int member) {
    return new Request.Register(instance, incarnation, Digest.ZERO, ranks, ManagerBench.SHARD_BYTES, 1, member);
  }

  Reply register(String instance, long incarnation, int ranks, int member) {
    Reply reply = call(registration(instance, incarnation, ranks, member));
    if (reply instanceof Reply.Registered registered) {
      generation = registered.generation();
      this.member = registered.member();
      witness = registered.witness();
    }
    return reply;
  }

  /** Registers, and fails if that is refused. */
  Caller as(String instance, long incarnation, int ranks, int member) {
    assertThat(register(instance, incarnation, ranks, member)).isInstanceOf(Reply.Registered.class);
    return this;
  }

  long generation() {
    return generation;
  }

  long member() {
    return member;
  }

  String witness() {
    return witness;
  }

  Reply query(long operation, PrefixChain chain) {
    return call(new Request.Query(generation, operation, 0, chain));
  }

  Reply restore(long lease, int rank) {
    return call(new Request.Restore(generation, lease, rank));
  }

  Reply reserve(int rank, PrefixChain chain) {
    return call(new Request.Reserve(generation, rank, chain, 0, chain.blocks()));
  }

  /** Reserves blocks that nobody has, and returns the grant. */
  Reply.Granted granted(int rank, PrefixChain chain) {
    Reply reply = reserve(rank, chain);
    assertThat(reply).isInstanceOfSatisfying(Reply.Granted.class, grant -> assertThat(grant.grant()).isPositive());
    return (Reply.Granted) reply;
  }

  Reply commit(Reply.Granted grant) {
    boolean[] copied = new boolean[grant.shardsAt().length];
    Arrays.fill(copied, true);
    return call(new Request.Commit(grant.grant(), copied, new int[copied.length]));
  }

  /** Saves a chain that nobody has. */
  void save(int rank, PrefixChain chain) {
    assertThat(commit(granted(rank, chain))).isEqualTo(new Reply.Committed(chain.blocks()));
  }

  /** Asks for a chain that is in memory, and returns its lease. */
  Reply.Answered hit(long operation, PrefixChain chain) {
    Reply reply = query(operation, chain);
    assertThat(reply).isInstanceOfSatisfying(Reply.Answered.class,
        answer -> assertThat(answer.standing()).isEqualTo(Reply.Standing.HIT));
    return (Reply.Answered) reply;
  }

  static boolean exists(Path file) {
    return Files.exists(file);
  }

  @Override
  public void close() {
    hangUp();
  }

  /** Breaks the connection, without a word. */
  void hangUp() {
    try {
      connection.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
