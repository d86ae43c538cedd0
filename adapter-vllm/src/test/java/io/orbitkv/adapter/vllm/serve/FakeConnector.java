package io.orbitkv.adapter.vllm.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.vllm.protocol.SchedulerProtocol;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.identity.EngineStatement.Fact;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.UnixSocket;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** What the connector says, over a socket. */
final class FakeConnector implements AutoCloseable {

  private static final int ROOM = 1000;

  static final Duration LIMIT = Duration.ofSeconds(20);
  static final PrefixChain NO_HASHES = PrefixChain.ofTokens(new int[0], 1);

  private final Dialogue<SchedulerRequest, SchedulerReply> connection;

  FakeConnector(Path socket) throws IOException {
    connection = SchedulerProtocol.dialogue(UnixSocket.connect(socket, LIMIT));
  }

  static FakeConnector greeted(Path socket) throws IOException {
    FakeConnector connector = new FakeConnector(socket);
    connector.call(hello("0.31.0"), SchedulerReply.Welcome.class);
    return connector;
  }

  static SchedulerRequest.Hello hello(String engineVersion) {
    return new SchedulerRequest.Hello(SchedulerProtocol.VERSION, "fake connector", engineVersion, Protocol.probe());
  }

  /** Facts as a connector states them. */
  static List<Fact> facts() {
    return Stream.of("model.dtype", "cache.dtype", "cache.block_tokens", "hash.algorithm", "hash.probe",
        "parallel.tensor", "pages.layout", "pages.backends", "pages.pieces", "scope")
        .map(name -> new Fact(name, "value of " + name))
        .toList();
  }

  static SchedulerRequest.Identify identify(Digest asserted) {
    return new SchedulerRequest.Identify("", Optional.of(asserted), List.of(), facts());
  }

  SchedulerReply call(SchedulerRequest request) throws IOException {
    return connection.call(request, LIMIT);
  }

  <R extends SchedulerReply> R call(SchedulerRequest request, Class<R> expected) throws IOException {
    SchedulerReply reply = call(request);
    assertThat(reply).isInstanceOf(expected);
    return expected.cast(reply);
  }

  String refusal(SchedulerRequest request) throws IOException {
    return call(request, SchedulerReply.Refused.class).message();
  }

  /** Asks until there is an answer. */
  Digest namespace(SchedulerRequest.Identify identify) throws IOException {
    SchedulerReply reply;
    do {
      reply = call(identify);
    } while (reply instanceof SchedulerReply.Identifying);
    assertThat(reply).isInstanceOf(SchedulerReply.Identified.class);
    return ((SchedulerReply.Identified) reply).namespace();
  }

  /** Asks until there is a cache. */
  void attach(SchedulerRequest.Attach attach) throws IOException {
    while (!call(attach, SchedulerReply.Attached.class).attached()) {
      Thread.onSpinWait();
    }
  }

  /** Looks a request up until it is not deferred. */
  SchedulerReply.Matched lookup(String request, int computedTokens, int tokens, PrefixChain hashes) throws IOException {
    SchedulerReply.Matched matched =
        call(new SchedulerRequest.Lookup(request, computedTokens, tokens, 0, hashes), SchedulerReply.Matched.class);
    while (matched.standing() == SchedulerReply.Standing.DEFER) {
      matched = call(new SchedulerRequest.Lookup(request, computedTokens, tokens, hashes.blocks(), NO_HASHES),
          SchedulerReply.Matched.class);
    }
    return matched;
  }

  SchedulerReply.Plan allocate(String request, int externalTokens, int... pages) throws IOException {
    return step(new SchedulerRequest.Step(List.of(new SchedulerRequest.Allocated(request, externalTokens, pages)),
        List.of(), List.of(), List.of(), List.of(), List.of(), ROOM));
  }

  SchedulerReply.Plan advance(String request, int computedTokens, PrefixChain hashes, int... pages)
      throws IOException {
    return step(new SchedulerRequest.Step(List.of(),
        List.of(new SchedulerRequest.Advanced(request, computedTokens, 0, hashes, 0, pages)), List.of(), List.of(),
        List.of(), List.of(), ROOM));
  }

  SchedulerReply.Plan saveEnded(long save, int blocks) throws IOException {
    return step(new SchedulerRequest.Step(List.of(), List.of(), List.of(), List.of(),
        List.of(new SchedulerRequest.SaveEnded(save, blocks)), List.of(), ROOM));
  }

  SchedulerReply.Plan loadEnded(String request, boolean loaded) throws IOException {
    return step(new SchedulerRequest.Step(List.of(), List.of(), List.of(), List.of(), List.of(),
        List.of(new SchedulerRequest.LoadEnded(request, loaded)), ROOM));
  }

  SchedulerReply.Plan finish(String... requests) throws IOException {
    return step(new SchedulerRequest.Step(List.of(), List.of(), List.of(), List.of(requests), List.of(), List.of(),
        ROOM));
  }

  SchedulerReply.Plan step(SchedulerRequest.Step step) throws IOException {
    return call(step, SchedulerReply.Plan.class);
  }

  long counter(String name) throws IOException {
    return call(new SchedulerRequest.Counters(), SchedulerReply.Counted.class).values().getOrDefault(name, 0L);
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }
}
