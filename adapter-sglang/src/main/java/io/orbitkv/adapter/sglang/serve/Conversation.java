package io.orbitkv.adapter.sglang.serve;

import io.orbitkv.adapter.sglang.protocol.LinkerProtocol;
import io.orbitkv.adapter.sglang.protocol.LinkerReply;
import io.orbitkv.adapter.sglang.protocol.LinkerRequest;
import io.orbitkv.adapter.sglang.request.SlidingWindow;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.adapter.Conversations;
import io.orbitkv.core.adapter.ServedDialogue;
import io.orbitkv.core.adapter.ServedRelease;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.identity.EngineStatement;
import io.orbitkv.core.identity.Identities;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Software;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** One rank's connection, from its first word until nothing is held for it. */
final class Conversation implements Conversations.Conversation {

  private static final ServedRelease SERVED =
      new ServedRelease("SGLang", LinkerProtocol.ENGINE_VERSION, "linker", LinkerProtocol.VERSION);

  /** A Manager that listens takes a member in less; for another one, the rank asks again. */
  private static final Duration ATTACH_LIMIT = Duration.ofMillis(20);

  private final SglangEndpoint endpoint;
  private final ServedDialogue<LinkerRequest, LinkerReply> connection;
  private String engineVersion;
  private LinkerRequest.Attach attached;
  private Instance instance;

  Conversation(SglangEndpoint endpoint, Dialogue<LinkerRequest, LinkerReply> connection) {
    this.endpoint = endpoint;
    this.connection = new ServedDialogue<>(connection, "a rank's", endpoint.faults(), LinkerReply.Refused::new);
  }

  /** Carries out requests until the other side leaves; then gives up what is held for it alone. */
  @Override
  public void serve() {
    try {
      connection.serve(this::answer);
    } finally {
      if (instance != null) {
        instance.requests().left(attached.rank());
      }
      close();
    }
  }

  private LinkerReply answer(LinkerRequest request) {
    return switch (request) {
      case LinkerRequest.Hello hello -> greet(hello);
      case LinkerRequest.Identify identify -> identify(identify);
      case LinkerRequest.Attach attach -> attach(attach);
      case LinkerRequest.Lookup lookup -> attached("Lookup").requests().matched(attached.rank(), lookup);
      case LinkerRequest.GiveUp giveUp -> {
        attached("GiveUp").requests().giveUp(attached.rank(), giveUp);
        yield new LinkerReply.Done();
      }
      case LinkerRequest.Counters _ -> new LinkerReply.Counted(attached("Counters").requests().counters());
    };
  }

  private LinkerReply greet(LinkerRequest.Hello hello) {
    require(engineVersion == null, "Hello", "nothing");
    SERVED.require(hello.protocol(), hello.software(), hello.engineVersion(), hello.probe());
    engineVersion = hello.engineVersion();
    return new LinkerReply.Welcome(LinkerProtocol.VERSION, Software.name(), ProcessHandle.current().pid());
  }

  private LinkerReply identify(LinkerRequest.Identify identify) {
    require(engineVersion != null, "Identify", "Hello");
    EngineStatement stated = new EngineStatement("sglang", engineVersion, identify.modelPath(),
        identify.assertedDigest(), identify.adapterPaths(), identify.facts());
    return switch (endpoint.identities().identify(stated)) {
      case Identities.Standing.Reading reading ->
          new LinkerReply.Identifying(reading.doneBytes(), reading.totalBytes());
      case Identities.Standing.Known known -> new LinkerReply.Identified(known.namespace());
    };
  }

  private LinkerReply attach(LinkerRequest.Attach attach) {
    require(engineVersion != null, "Attach", "Hello");
    if (attached != null && !attached.equals(attach)) {
      throw new RefusedException("Attach states another instance than before on this connection: '" + attach.instance()
          + "' of start " + attach.incarnation() + "; make another connection");
    }
    if (attached == null) {
      if (attach.rank() < 0 || attach.rank() >= attach.ranks() || attach.pendingMillis() < 0) {
        throw new RefusedException("Attach states rank " + attach.rank() + " of " + attach.ranks() + " and a wait of "
            + attach.pendingMillis() + " ms, expected a rank that there is and 0 ms or more");
      }
      instance = endpoint.instance(new Instance.Spec(
          pages(attach, attach.instance(), attach.namespace(), attach.shardBytes()), window(attach),
          new Membership(attach.incarnation(), Membership.SCHEDULER),
          TimeUnit.MILLISECONDS.toNanos(attach.pendingMillis())));
      attached = attach;
    }
    return new LinkerReply.Attached(instance.attach(ATTACH_LIMIT));
  }

  private static Optional<Instance.WindowSpec> window(LinkerRequest.Attach attach) {
    int blocks = attach.windowBlocks();
    if (blocks == 0 && attach.windowNamespace().isEmpty()) {
      return Optional.empty();
    }
    if (blocks < 1 || blocks > SlidingWindow.MAX_BLOCKS || attach.windowNamespace().isEmpty()
        || attach.windowInstance().equals(attach.instance())) {
      throw new RefusedException("Attach states a sliding window of " + blocks + " blocks in '"
          + attach.windowInstance() + "', expected 1 to " + SlidingWindow.MAX_BLOCKS
          + " in an instance and a namespace of their own; or 0, an empty name and no namespace");
    }
    return Optional.of(new Instance.WindowSpec(
        pages(attach, attach.windowInstance(), attach.windowNamespace().get(), attach.windowShardBytes()), blocks));
  }

  private static SessionSpec pages(LinkerRequest.Attach attach, String instance, Digest namespace, int shardBytes) {
    return new SessionSpec(
        instance, new Namespace(namespace), new ShardLayout(attach.ranks(), shardBytes), attach.blockTokens());
  }

  private Instance attached(String request) {
    require(instance != null, request, "Attach");
    return instance;
  }

  private static void require(boolean expected, String request, String before) {
    if (!expected) {
      throw new RefusedException(request + " came out of order, expected it after " + before);
    }
  }

  @Override
  public void close() {
    connection.close();
  }
}
