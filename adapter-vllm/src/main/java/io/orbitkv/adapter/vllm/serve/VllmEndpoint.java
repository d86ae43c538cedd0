package io.orbitkv.adapter.vllm.serve;

import io.orbitkv.adapter.vllm.protocol.SchedulerProtocol;
import io.orbitkv.adapter.vllm.request.Numbers;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.adapter.Conversations;
import io.orbitkv.core.adapter.SchedulerAttachment;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.FaultLog;
import io.orbitkv.core.agent.SchedulerEndpoint;
import io.orbitkv.core.client.Membership;
import io.orbitkv.core.identity.Identities;
import io.orbitkv.core.lookup.CacheThread;
import java.lang.System.Logger;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * Where an engine's scheduler and its workers find the adapter. Each connection has a thread of its own; one of them at
 * a time is the scheduler's.
 *
 * <p>Thread-safe.
 */
public final class VllmEndpoint implements SchedulerEndpoint {

  private static final Logger LOG = System.getLogger(VllmEndpoint.class.getName());

  private final AdapterOptions options;
  private final FaultLog faults = new FaultLog(LOG, System::nanoTime);
  private final Identities identities;
  private final CacheThread cacheThread = new CacheThread(faults, System::nanoTime);
  private final Numbers numbers = new Numbers();
  private final Object lock = new Object();
  private final Conversations conversations;
  private SchedulerAttachment attachment;
  private Conversation scheduler;

  private VllmEndpoint(AdapterOptions options) {
    this.options = options;
    this.identities = new Identities(options.state());
    try {
      this.conversations = Conversations.listen(options.socket(), this::conversation);
    } catch (RuntimeException e) {
      cacheThread.close();
      throw e;
    }
  }

  /** As {@link io.orbitkv.core.agent.EngineAdapter#open}. */
  public static VllmEndpoint open(AdapterOptions options) {
    return new VllmEndpoint(options);
  }

  @Override
  public Path socket() {
    return conversations.socket();
  }

  private Conversations.Conversation conversation(SocketChannel accepted) {
    return new Conversation(this, SchedulerProtocol.dialogue(accepted));
  }

  /** Makes a conversation the scheduler's; the one before is over. Returns the scheduler's place in its instance. */
  SchedulerAttachment attach(Conversation conversation, SessionSpec spec, Membership membership) {
    Conversation before;
    SchedulerAttachment of;
    synchronized (lock) {
      before = scheduler;
      scheduler = conversation;
      if (attachment != null && !attachment.isOf(spec, membership)) {
        attachment.close();
        attachment = null;
      }
      if (attachment == null) {
        attachment = new SchedulerAttachment(options.cache(), spec, membership, cacheThread, faults);
      }
      of = attachment;
    }
    if (before != null) {
      before.close();
    }
    return of;
  }

  /** A conversation is over. */
  void left(Conversation conversation) {
    synchronized (lock) {
      if (scheduler == conversation) {
        scheduler = null;
      }
    }
  }

  FaultLog faults() {
    return faults;
  }

  Identities identities() {
    return identities;
  }

  CacheThread cacheThread() {
    return cacheThread;
  }

  Numbers numbers() {
    return numbers;
  }

  @Override
  public void close() {
    conversations.stop();
    identities.close();
    synchronized (lock) {
      if (attachment != null) {
        attachment.close();
        attachment = null;
      }
    }
    cacheThread.close();
    conversations.close();
  }
}
