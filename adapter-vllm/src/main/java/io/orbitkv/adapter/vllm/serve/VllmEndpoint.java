package io.orbitkv.adapter.vllm.serve;

import io.orbitkv.adapter.vllm.identity.Identities;
import io.orbitkv.adapter.vllm.lookup.CacheThread;
import io.orbitkv.adapter.vllm.protocol.SchedulerConnection;
import io.orbitkv.adapter.vllm.request.Numbers;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.AgentSocket;
import io.orbitkv.core.agent.FaultLog;
import io.orbitkv.core.agent.SchedulerEndpoint;
import io.orbitkv.core.client.Membership;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Where an engine's scheduler and its workers find the adapter. Each connection has a thread of its own; one of them at
 * a time is the scheduler's.
 *
 * <p>Thread-safe.
 */
public final class VllmEndpoint implements SchedulerEndpoint {

  private static final Logger LOG = System.getLogger(VllmEndpoint.class.getName());

  /** The workers of the largest instance ask for the namespace at the same time. */
  private static final int BACKLOG = 256;

  /** Those, and the scheduler, before and after it has connected again. */
  private static final int MAX_CONNECTIONS = 264;

  private final AdapterOptions options;
  private final AgentSocket socket;
  private final FaultLog faults = new FaultLog(LOG, System::nanoTime);
  private final Identities identities;
  private final CacheThread cacheThread = new CacheThread(faults, System::nanoTime);
  private final Numbers numbers = new Numbers();
  private final Object lock = new Object();
  private final Map<Conversation, Thread> conversations = new HashMap<>();
  private final Thread accepting;
  private SchedulerAttachment attachment;
  private Conversation scheduler;
  private boolean closed;

  private VllmEndpoint(AdapterOptions options) {
    this.options = options;
    this.socket = AgentSocket.listen(options.socket(), BACKLOG);
    this.identities = new Identities(options.state());
    this.accepting = Thread.ofPlatform().name("orbitkv-vllm").start(this::accept);
  }

  /** As {@link io.orbitkv.core.agent.EngineAdapter#open}. */
  public static VllmEndpoint open(AdapterOptions options) {
    return new VllmEndpoint(options);
  }

  @Override
  public Path socket() {
    return socket.path();
  }

  private void accept() {
    while (true) {
      SocketChannel accepted;
      try {
        accepted = socket.accept();
      } catch (IOException e) {
        if (!isClosed()) {
          LOG.log(Level.ERROR, "socket " + socket.path() + " accepts no connection any more: " + e);
        }
        return;
      }
      begin(new Conversation(this, new SchedulerConnection(accepted)));
    }
  }

  private boolean isClosed() {
    synchronized (lock) {
      return closed;
    }
  }

  private void begin(Conversation conversation) {
    synchronized (lock) {
      if (!closed && conversations.size() < MAX_CONNECTIONS) {
        conversations.put(conversation, Thread.ofPlatform().name("orbitkv-vllm-connection").start(() -> {
          conversation.serve();
          ended(conversation);
        }));
        return;
      }
    }
    conversation.close();
  }

  private void ended(Conversation conversation) {
    synchronized (lock) {
      conversations.remove(conversation);
      if (scheduler == conversation) {
        scheduler = null;
      }
    }
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
    List<Map.Entry<Conversation, Thread>> open;
    synchronized (lock) {
      closed = true;
      open = List.copyOf(conversations.entrySet());
    }
    socket.stop();
    open.forEach(entry -> entry.getKey().close());
    boolean interrupted = join(accepting);
    for (Map.Entry<Conversation, Thread> entry : open) {
      interrupted |= join(entry.getValue());
    }
    identities.close();
    synchronized (lock) {
      if (attachment != null) {
        attachment.close();
        attachment = null;
      }
    }
    cacheThread.close();
    socket.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits for a thread's end, and returns whether it was interrupted in that. */
  private static boolean join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    return interrupted;
  }
}
