package io.orbitkv.core.wire;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.util.stream.IntStream;

/** The numbers that both sides of the protocol agree on. */
public final class Protocol {

  /** This version. Another one is refused. */
  public static final int VERSION = 1;

  /** Most bytes of a frame's body: a chain of the greatest length and what goes with it. */
  public static final int MAX_FRAME_BYTES = PrefixChain.MAX_BLOCKS * Digest.BYTES + 4096;

  /** Most bytes of a text in UTF-8. */
  public static final int MAX_TEXT_BYTES = 1024;

  /** Most keys of a map. */
  public static final int MAX_KEYS = 256;

  /** The member that asks and holds no shards. */
  public static final int SCHEDULER = -1;

  /** The member that is every rank and the scheduler too, as a process that serves a whole instance. */
  public static final int ALL_RANKS = -2;

  /** In {@link Reply.Granted}: this block need not be saved, whether or not it is stored. */
  public static final long UNWANTED = -1;

  /** In {@link Reply.Granted}: this block is stored already, for everybody to find. */
  public static final long STORED = -2;

  private static final int PROBE_TOKENS = 64;
  private static final int PROBE_BLOCK_TOKENS = 16;

  private Protocol() {}

  /** Returns the last hash of the chain of the tokens 0 to 63 in blocks of 16. */
  public static Digest probe() {
    PrefixChain chain = PrefixChain.ofTokens(IntStream.range(0, PROBE_TOKENS).toArray(), PROBE_BLOCK_TOKENS);
    return chain.hash(chain.blocks() - 1);
  }
}
