package io.orbitkv.core.agent;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Protocol;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/** What an agent and its engine agree on. */
final class AgentProtocol {

  /** This version. Another one is refused. */
  static final int VERSION = 2;

  /** Most bytes of a frame's body: a chain of the greatest length, a page a block, and what goes with them. */
  static final int MAX_FRAME_BYTES = Protocol.MAX_FRAME_BYTES + Protocol.MAX_FRAME_BYTES / 8;

  /** Most bytes of what an engine states of its memory: a handle for each of many allocations. */
  static final int MAX_MEMORY_BYTES = 128 << 10;

  /** Most loads and saves that are under way or not yet reported. */
  static final int MAX_TRANSFERS = 1024;

  /** Most queries that are not answered, and most leases that are not released. */
  static final int MAX_QUERIES = 1024;

  /** Most series whose chains are kept between saves. */
  static final int MAX_SERIES = 1024;

  /** Most blocks of all those chains, 64 MiB of hashes. */
  static final long MAX_SERIES_BLOCKS = 2L * PrefixChain.MAX_BLOCKS;

  /** Longest time that a request may ask to wait, in milliseconds. */
  static final int MAX_WAIT_MILLIS = 1000;

  /** How long an engine may wait with its hello, and after that with what it opens, while others wait for it. */
  static final Duration OPEN_LIMIT = Duration.ofSeconds(5);

  private AgentProtocol() {}

  /** Takes over a channel, connected and blocking, at either end. */
  static Dialogue<AgentRequest, AgentReply> dialogue(SocketChannel channel) {
    return new Dialogue<>(channel, MAX_FRAME_BYTES, AgentRequestCodec::write, AgentRequestCodec::read,
        AgentReplyCodec::write, AgentReplyCodec::read);
  }
}
