package io.orbitkv.core.agent;

import io.orbitkv.core.wire.Grammar;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;

/** What an agent and its engine say to each other. */
record AgentGrammar() implements Grammar<AgentRequest, AgentReply> {

  @Override
  public int maxFrameBytes() {
    return AgentProtocol.MAX_FRAME_BYTES;
  }

  @Override
  public void writeRequest(AgentRequest request, PackWriter out) {
    AgentRequestCodec.write(request, out);
  }

  @Override
  public AgentRequest readRequest(PackReader in) throws MalformedException {
    return AgentRequestCodec.read(in);
  }

  @Override
  public void writeReply(AgentReply reply, PackWriter out) {
    AgentReplyCodec.write(reply, out);
  }

  @Override
  public AgentReply readReply(PackReader in) throws MalformedException {
    return AgentReplyCodec.read(in);
  }
}
