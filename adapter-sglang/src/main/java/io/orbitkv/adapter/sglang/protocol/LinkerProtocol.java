package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Protocol;
import java.nio.channels.SocketChannel;

/** What the adapter and the linkers agree on. */
public final class LinkerProtocol {

  /** This version. Another one is refused. */
  public static final int VERSION = 1;

  /** The release of SGLang whose contract this adapter translates. Another one is refused. */
  public static final String ENGINE_VERSION = "0.5.22";

  private LinkerProtocol() {}

  /** Takes over a channel, connected and blocking, at either end. */
  public static Dialogue<LinkerRequest, LinkerReply> dialogue(SocketChannel channel) {
    return new Dialogue<>(channel, Protocol.MAX_FRAME_BYTES, LinkerRequestCodec::write, LinkerRequestCodec::read,
        LinkerReplyCodec::write, LinkerReplyCodec::read);
  }
}
