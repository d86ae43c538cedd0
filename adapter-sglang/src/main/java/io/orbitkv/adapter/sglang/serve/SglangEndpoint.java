package io.orbitkv.adapter.sglang.serve;

import io.orbitkv.adapter.sglang.protocol.LinkerProtocol;
import io.orbitkv.core.adapter.Conversations;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.FaultLog;
import io.orbitkv.core.agent.SchedulerEndpoint;
import io.orbitkv.core.identity.Identities;
import io.orbitkv.core.lookup.CacheThread;
import java.lang.System.Logger;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * Where the ranks of an engine find the adapter. Each connection has a thread of its own; the ranks of one start of the
 * engine share an {@link Instance}.
 *
 * <p>Thread-safe.
 */
public final class SglangEndpoint implements SchedulerEndpoint {

  private static final Logger LOG = System.getLogger(SglangEndpoint.class.getName());

  private final AdapterOptions options;
  private final FaultLog faults = new FaultLog(LOG, System::nanoTime);
  private final Identities identities;
  private final CacheThread cacheThread = new CacheThread(faults, System::nanoTime);
  private final Object lock = new Object();
  private final Conversations conversations;
  private Instance instance;

  private SglangEndpoint(AdapterOptions options) {
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
  public static SglangEndpoint open(AdapterOptions options) {
    return new SglangEndpoint(options);
  }

  @Override
  public Path socket() {
    return conversations.socket();
  }

  private Conversations.Conversation conversation(SocketChannel accepted) {
    return new Conversation(this, LinkerProtocol.dialogue(accepted));
  }

  /** Returns the instance that a rank states, and makes it if it is another than before. */
  Instance instance(Instance.Spec spec) {
    synchronized (lock) {
      if (instance == null || !instance.spec().equals(spec)) {
        if (instance != null) {
          instance.close();
        }
        instance = new Instance(options.cache(), spec, cacheThread, faults);
      }
      return instance;
    }
  }

  FaultLog faults() {
    return faults;
  }

  Identities identities() {
    return identities;
  }

  @Override
  public void close() {
    conversations.stop();
    identities.close();
    synchronized (lock) {
      if (instance != null) {
        instance.close();
        instance = null;
      }
    }
    cacheThread.close();
    conversations.close();
  }
}
