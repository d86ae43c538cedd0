package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.api.Digest;
import io.orbitkv.core.wire.Reply;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The adapter's answer to one {@link LinkerRequest}. */
public sealed interface LinkerReply {

  /** What is known of the blocks behind those that the engine has. */
  enum Standing {
    /** None can be restored: compute them. The rank is not interested any more. */
    NONE,
    /** Some may be there soon: let the request wait, and ask again in the next pass. */
    PENDING,
    /** They are leased, until every rank that asked has given them up. */
    HIT,
    /** The chain is not known: ask again with it. */
    UNKNOWN
  }

  /**
   * Answers {@link LinkerRequest.Hello}.
   *
   * @param protocol version of the protocol
   * @param software name and version of the adapter
   * @param pid the adapter's process id in its own pid namespace
   */
  record Welcome(int protocol, String software, long pid) implements LinkerReply {}

  /** Says why a request was not carried out, in one line for a log. Nothing was changed. */
  record Refused(Reply.Refusal refusal, String message) implements LinkerReply {}

  /**
   * Answers {@link LinkerRequest.Identify}: files are being read.
   *
   * @param doneBytes how many bytes have been read
   * @param totalBytes of how many
   */
  record Identifying(long doneBytes, long totalBytes) implements LinkerReply {}

  /** Answers {@link LinkerRequest.Identify}. */
  record Identified(Digest namespace) implements LinkerReply {}

  /**
   * Answers {@link LinkerRequest.Attach}.
   *
   * @param attached whether there is a cache now; the adapter goes on trying
   */
  record Attached(boolean attached) implements LinkerReply {}

  /**
   * Answers {@link LinkerRequest.Lookup}.
   *
   * @param standing how it stands
   * @param blocks with a hit, how many blocks behind the engine's own can be restored; else 0
   * @param lease with a hit, the lease by which each rank loads; else 0
   * @param window with a hit, the leases of the last of these blocks in the layers with a sliding window: one a block,
   *     as many as those layers look back on behind the engine's own; else none
   */
  record Matched(Standing standing, int blocks, long lease, List<Long> window) implements LinkerReply {

    /** Copies the list. */
    public Matched {
      window = List.copyOf(window);
    }

    /** Of a model without sliding windows, or without a hit. */
    public Matched(Standing standing, int blocks, long lease) {
      this(standing, blocks, lease, List.of());
    }
  }

  /** Answers {@link LinkerRequest.GiveUp}. */
  record Done() implements LinkerReply {}

  /** Answers {@link LinkerRequest.Counters}: counts since the instance attached, by name. */
  record Counted(Map<String, Long> values) implements LinkerReply {

    /** Copies the map; it is in the order of its names. */
    public Counted {
      values = Collections.unmodifiableMap(new TreeMap<>(values));
    }
  }
}
