package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.identity.EngineStatement.Fact;
import java.util.List;
import java.util.Optional;

/**
 * What a rank's linker asks of the adapter. A connection has one request under way at a time and gets one {@link
 * LinkerReply} to each, in order.
 */
public sealed interface LinkerRequest {

  /**
   * The first request of every connection.
   *
   * @param protocol version of the protocol, {@link LinkerProtocol#VERSION}
   * @param software name and version of the linker, for messages
   * @param engineVersion the release of SGLang
   * @param probe {@link io.orbitkv.core.wire.Protocol#probe()}: the hash of a fixed chain
   */
  record Hello(int protocol, String software, String engineVersion, Digest probe) implements LinkerRequest {}

  /**
   * Asks for the namespace; asked again with the same fields, how far its computation is.
   *
   * @param modelPath absolute path of the model's folder, or of its one file
   * @param assertedDigest what the operator states instead of a digest of the files
   * @param adapterPaths absolute paths of the fixed set of local adapters, in the order in which the facts name them
   * @param facts whatever else decides what the bytes mean; each name once
   */
  record Identify(String modelPath, Optional<Digest> assertedDigest, List<String> adapterPaths, List<Fact> facts)
      implements LinkerRequest {

    /** Copies the lists. */
    public Identify {
      adapterPaths = List.copyOf(adapterPaths);
      facts = List.copyOf(facts);
    }
  }

  /**
   * States which rank of which instance this is. Asked again with the same fields, whether there is a cache by now.
   *
   * @param instance the instance's name, 1 to 128 characters
   * @param incarnation the number that all members of this start of the instance state
   * @param namespace what its bytes mean
   * @param rank 0 to ranks - 1
   * @param ranks how many ranks hold a shard of each block
   * @param shardBytes bytes of a rank's shard of one block
   * @param blockTokens tokens of one block
   * @param pendingMillis how long a request may wait while the SSD is read; 0 for not at all
   * @param windowBlocks how many blocks the layers with a sliding window look back on; 0 for a model without any, and
   *     then the three that follow are empty
   * @param windowInstance the name of the instance that keeps those layers' shards
   * @param windowNamespace what its bytes mean
   * @param windowShardBytes bytes of a rank's shard of one block of it
   */
  record Attach(String instance, long incarnation, Digest namespace, int rank, int ranks, int shardBytes,
      int blockTokens, int pendingMillis, int windowBlocks, String windowInstance, Optional<Digest> windowNamespace,
      int windowShardBytes) implements LinkerRequest {}

  /**
   * Asks what can be restored for a request, and is asked again in every pass in which the request waits. From now on
   * the rank is interested in what is found, until it gives it up.
   *
   * @param request the engine's id of the request
   * @param ownBlocks leading blocks that the engine has itself
   * @param last the last hash of the chain, which names all of it
   * @param chain the request's whole blocks, first block first; or none, if it was given before for the same last hash
   */
  record Lookup(String request, int ownBlocks, Digest last, PrefixChain chain) implements LinkerRequest {}

  /**
   * The rank is not interested any more: its load has ended, or there will be none.
   *
   * @param request the engine's id of the request
   * @param lease the lease it was told; 0 for whatever there is
   */
  record GiveUp(String request, long lease) implements LinkerRequest {}

  /** Asks for the counters. */
  record Counters() implements LinkerRequest {}
}
