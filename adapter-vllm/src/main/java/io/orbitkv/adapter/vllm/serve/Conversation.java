package io.orbitkv.adapter.vllm.serve;

import io.orbitkv.adapter.vllm.protocol.SchedulerProtocol;
import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import io.orbitkv.adapter.vllm.request.Requests;
import io.orbitkv.adapter.vllm.request.SchedulerSpec;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.adapter.Conversations;
import io.orbitkv.core.adapter.SchedulerAttachment;
import io.orbitkv.core.adapter.ServedDialogue;
import io.orbitkv.core.adapter.ServedRelease;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.identity.EngineStatement;
import io.orbitkv.core.identity.Identities;
import io.orbitkv.core.lookup.SessionDepartures;
import io.orbitkv.core.lookup.SessionQuestions;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Software;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * One connection, from its first word until nothing is held for it: that of the scheduler, which attaches, or that of a
 * worker that asks for the namespace. All requests are carried out on the thread that calls {@link #serve}.
 */
final class Conversation implements Conversations.Conversation {

  private static final ServedRelease SERVED =
      new ServedRelease("vLLM", SchedulerProtocol.ENGINE_VERSION, "scheduler", SchedulerProtocol.VERSION);

  /** A Manager that listens takes a member in less; for another one, the scheduler asks again. */
  private static final Duration ATTACH_LIMIT = Duration.ofMillis(20);

  private final VllmEndpoint endpoint;
  private final ServedDialogue<SchedulerRequest, SchedulerReply> connection;
  private String engineVersion;
  private SchedulerRequest.Attach attached;
  private SchedulerAttachment attachment;
  private Requests requests;

  Conversation(VllmEndpoint endpoint, Dialogue<SchedulerRequest, SchedulerReply> connection) {
    this.endpoint = endpoint;
    this.connection = new ServedDialogue<>(connection, "a scheduler's", endpoint.faults(), SchedulerReply.Refused::new);
  }

  /** Carries out requests until the other side leaves; then gives up what is held for it. */
  @Override
  public void serve() {
    try {
      connection.serve(this::answer);
    } finally {
      if (requests != null) {
        requests.close();
      }
      close();
      endpoint.left(this);
    }
  }

  private SchedulerReply answer(SchedulerRequest request) {
    return switch (request) {
      case SchedulerRequest.Hello hello -> greet(hello);
      case SchedulerRequest.Identify identify -> {
        require(engineVersion != null, "Identify", "Hello");
        yield identify(identify);
      }
      case SchedulerRequest.Attach attach -> attach(attach);
      case SchedulerRequest.Lookup lookup -> attached("Lookup").matched(lookup);
      case SchedulerRequest.Step step -> attached("Step").plan(step);
      case SchedulerRequest.Reset _ -> new SchedulerReply.ResetDone(attached("Reset").reset());
      case SchedulerRequest.Counters _ -> new SchedulerReply.Counted(attached("Counters").counters());
    };
  }

  private SchedulerReply greet(SchedulerRequest.Hello hello) {
    require(engineVersion == null, "Hello", "nothing");
    SERVED.require(hello.protocol(), hello.software(), hello.engineVersion(), hello.probe());
    engineVersion = hello.engineVersion();
    return new SchedulerReply.Welcome(
        SchedulerProtocol.VERSION, Software.name(), ProcessHandle.current().pid());
  }

  private SchedulerReply identify(SchedulerRequest.Identify identify) {
    EngineStatement stated = new EngineStatement("vllm", engineVersion, identify.modelPath(),
        identify.assertedDigest(), identify.adapterPaths(), identify.facts());
    return switch (endpoint.identities().identify(stated)) {
      case Identities.Standing.Reading reading ->
          new SchedulerReply.Identifying(reading.doneBytes(), reading.totalBytes());
      case Identities.Standing.Known known -> new SchedulerReply.Identified(known.namespace());
    };
  }

  private SchedulerReply attach(SchedulerRequest.Attach attach) {
    require(engineVersion != null, "Attach", "Hello");
    if (attached != null && !attached.equals(attach)) {
      throw new RefusedException("Attach states another instance than before on this connection: '" + attach.instance()
          + "' of start " + attach.incarnation() + "; make another connection");
    }
    if (attached == null) {
      ShardLayout layout = new ShardLayout(attach.ranks(), attach.shardBytes());
      SessionSpec session = new SessionSpec(
          attach.instance(), new Namespace(attach.namespace()), layout, attach.blockTokens());
      SchedulerSpec spec = new SchedulerSpec(attach.blockTokens(), layout.blockBytes(),
          TimeUnit.MILLISECONDS.toNanos(attach.deferMillis()), attach.saves());
      attachment = endpoint.attach(this, session, new Membership(attach.incarnation(), Membership.SCHEDULER));
      attached = attach;
      SessionQuestions questions =
          new SessionQuestions(endpoint.cacheThread(), attachment::session, endpoint.faults(), System::nanoTime);
      Supplier<Departures> departures = attach.departures()
          ? new SessionDepartures(endpoint.cacheThread(), questions::session, endpoint.faults(), System::nanoTime)
          : SessionDepartures::none;
      requests =
          new Requests(spec, questions, departures, endpoint.numbers(), System::nanoTime, new SecureRandom());
    }
    return new SchedulerReply.Attached(attachment.attach(ATTACH_LIMIT));
  }

  private Requests attached(String request) {
    require(requests != null, request, "Attach");
    return requests;
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
