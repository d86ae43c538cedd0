package io.orbitkv.adapter.vllm.protocol;

import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Protocol;
import java.nio.channels.SocketChannel;

/** What the adapter and the connector agree on. */
public final class SchedulerProtocol {

  /** This version. Another one is refused. */
  public static final int VERSION = 1;

  /** The release of vLLM whose contract this adapter translates. Another one is refused. */
  public static final String ENGINE_VERSION = "0.31.0";

  private SchedulerProtocol() {}

  /** Takes over a channel, connected and blocking, at either end. */
  public static Dialogue<SchedulerRequest, SchedulerReply> dialogue(SocketChannel channel) {
    return new Dialogue<>(channel, Protocol.MAX_FRAME_BYTES, SchedulerRequestCodec::write, SchedulerRequestCodec::read,
        SchedulerReplyCodec::write, SchedulerReplyCodec::read);
  }
}
