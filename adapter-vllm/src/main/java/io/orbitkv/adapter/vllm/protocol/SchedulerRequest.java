package io.orbitkv.adapter.vllm.protocol;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.identity.EngineStatement.Fact;
import java.util.List;
import java.util.Optional;

/**
 * What the connector asks of the adapter. A connection has one request under way at a time and gets one {@link
 * SchedulerReply} to each, in order.
 */
public sealed interface SchedulerRequest {

  /**
   * The first request of every connection, a worker's too.
   *
   * @param protocol version of the protocol, {@link SchedulerProtocol#VERSION}
   * @param software name and version of the connector, for messages
   * @param engineVersion the release of vLLM
   * @param probe {@link io.orbitkv.core.wire.Protocol#probe()}: the hash of a fixed chain
   */
  record Hello(int protocol, String software, String engineVersion, Digest probe) implements SchedulerRequest {}

  /**
   * Asks for the namespace; asked again with the same fields, how far its computation is.
   *
   * @param modelPath absolute path of the model's folder, or of its one file
   * @param assertedDigest what the operator states instead of a digest of the files
   * @param adapterPaths absolute paths of the fixed set of local adapters, in the order in which the facts name them
   * @param facts whatever else decides what the bytes mean; each name once
   */
  record Identify(String modelPath, Optional<Digest> assertedDigest, List<String> adapterPaths, List<Fact> facts)
      implements SchedulerRequest {

    /** Copies the lists. */
    public Identify {
      adapterPaths = List.copyOf(adapterPaths);
      facts = List.copyOf(facts);
    }
  }

  /**
   * States which instance the scheduler is of. It ends an earlier connection that did so. Asked again with the same
   * fields, whether there is a cache by now.
   *
   * @param instance the instance's name, 1 to 128 characters
   * @param incarnation the number that all members of this start of the instance state
   * @param namespace what its bytes mean
   * @param ranks how many ranks hold a shard of each block
   * @param shardBytes bytes of a rank's shard of one block
   * @param blockTokens tokens of one block
   * @param deferMillis how long a request may be deferred while the SSD is read; 0 for not at all
   * @param saves whether blocks are saved
   * @param departures whether it is to be told which blocks leave the cache
   */
  record Attach(String instance, long incarnation, Digest namespace, int ranks, int shardBytes, int blockTokens,
      int deferMillis, boolean saves, boolean departures) implements SchedulerRequest {}

  /**
   * Asks how many tokens of a waiting request can be loaded. May be asked again at any time, also with another number
   * of computed tokens: only {@link Allocated} takes the engine at its word.
   *
   * @param request the engine's id of the request
   * @param computedTokens tokens of whole blocks that the engine has itself
   * @param totalTokens tokens that may be answered for, the computed ones included
   * @param known how many of the request's hashes were sent before on this connection
   * @param hashes those behind them
   */
  record Lookup(String request, int computedTokens, int totalTokens, int known, PrefixChain hashes)
      implements SchedulerRequest {}

  /**
   * Tells what the engine decided in a step, and what workers have reported since the last one. The parts are taken in
   * the order {@code savesEnded}, {@code loadsEnded}, {@code preempted}, {@code finished}, {@code allocated}, {@code
   * advanced}, whatever their order in the message.
   *
   * @param allocated requests of the waiting queue that got pages
   * @param advanced requests that complete one more block or more in this step
   * @param preempted requests that lost their pages
   * @param finished requests that the engine has forgotten
   * @param savesEnded saves that every rank has reported
   * @param loadsEnded loads that every rank has reported
   * @param room how many pages may be held for saves beside those that are
   */
  record Step(List<Allocated> allocated, List<Advanced> advanced, List<String> preempted, List<String> finished,
      List<SaveEnded> savesEnded, List<LoadEnded> loadsEnded, int room) implements SchedulerRequest {

    /** Copies the lists. */
    public Step {
      allocated = List.copyOf(allocated);
      advanced = List.copyOf(advanced);
      preempted = List.copyOf(preempted);
      finished = List.copyOf(finished);
      savesEnded = List.copyOf(savesEnded);
      loadsEnded = List.copyOf(loadsEnded);
    }
  }

  /**
   * A request got pages.
   *
   * @param request its id
   * @param externalTokens how many of its tokens are to be loaded, as was answered last; 0 for none
   * @param pages the pages of all its blocks, first block first
   */
  record Allocated(String request, int externalTokens, int[] pages) {}

  /**
   * A request completes blocks.
   *
   * @param request its id
   * @param computedTokens its confirmed tokens that are in its pages when this step's forward has run
   * @param known how many of its hashes were sent before on this connection
   * @param hashes those behind them
   * @param firstPage index of the first block whose page follows; all before it were sent
   * @param pages the pages from there on
   */
  record Advanced(String request, int computedTokens, int known, PrefixChain hashes, int firstPage, int[] pages) {}

  /**
   * A save is over: its pages are the engine's again.
   *
   * @param save its number
   * @param blocks how many of its blocks every rank has committed
   */
  record SaveEnded(long save, int blocks) {}

  /**
   * A load is over.
   *
   * @param request the request that it was for
   * @param loaded whether every rank has every block
   */
  record LoadEnded(String request, boolean loaded) {}

  /**
   * Asks that nothing that was saved so far is found any more: the weights may have changed. It holds for this
   * connection: an engine that has been reset says so again on every later one, before anything else.
   */
  record Reset() implements SchedulerRequest {}

  /** Asks for the counters. */
  record Counters() implements SchedulerRequest {}
}
