package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.core.wire.Grammar;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import io.orbitkv.core.wire.Protocol;

/** What the adapter and the linkers say to each other. */
public record LinkerGrammar() implements Grammar<LinkerRequest, LinkerReply> {

  @Override
  public int maxFrameBytes() {
    return Protocol.MAX_FRAME_BYTES;
  }

  @Override
  public void writeRequest(LinkerRequest request, PackWriter out) {
    LinkerRequestCodec.write(request, out);
  }

  @Override
  public LinkerRequest readRequest(PackReader in) throws MalformedException {
    return LinkerRequestCodec.read(in);
  }

  @Override
  public void writeReply(LinkerReply reply, PackWriter out) {
    LinkerReplyCodec.write(reply, out);
  }

  @Override
  public LinkerReply readReply(PackReader in) throws MalformedException {
    return LinkerReplyCodec.read(in);
  }
}
