package io.orbitkv.adapter.vllm.protocol;

import io.orbitkv.core.wire.Grammar;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import io.orbitkv.core.wire.Protocol;

/** What the adapter and the connector say to each other. */
public record SchedulerGrammar() implements Grammar<SchedulerRequest, SchedulerReply> {

  @Override
  public int maxFrameBytes() {
    return Protocol.MAX_FRAME_BYTES;
  }

  @Override
  public void writeRequest(SchedulerRequest request, PackWriter out) {
    SchedulerRequestCodec.write(request, out);
  }

  @Override
  public SchedulerRequest readRequest(PackReader in) throws MalformedException {
    return SchedulerRequestCodec.read(in);
  }

  @Override
  public void writeReply(SchedulerReply reply, PackWriter out) {
    SchedulerReplyCodec.write(reply, out);
  }

  @Override
  public SchedulerReply readReply(PackReader in) throws MalformedException {
    return SchedulerReplyCodec.read(in);
  }
}
