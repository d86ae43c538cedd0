package io.orbitkv.adapter.vllm.protocol;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.wire.Reply;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The adapter's answer to one {@link SchedulerRequest}. */
public sealed interface SchedulerReply {

  /** What is known of the tokens behind those that the engine has. */
  enum Standing {
    /** None can be loaded: compute them. */
    NONE,
    /** Some may be there soon: ask again in the next step. */
    DEFER,
    /** They are held for this request until it is allocated, finished, or answered otherwise. */
    HIT
  }

  /**
   * Answers {@link SchedulerRequest.Hello}.
   *
   * @param protocol version of the protocol
   * @param software name and version of the adapter
   * @param pid the adapter's process id in its own pid namespace
   */
  record Welcome(int protocol, String software, long pid) implements SchedulerReply {}

  /** Says why a request was not carried out, in one line for a log. Nothing was changed. */
  record Refused(Reply.Refusal refusal, String message) implements SchedulerReply {}

  /**
   * Answers {@link SchedulerRequest.Identify}: files are being read.
   *
   * @param doneBytes how many bytes have been read
   * @param totalBytes of how many
   */
  record Identifying(long doneBytes, long totalBytes) implements SchedulerReply {}

  /** Answers {@link SchedulerRequest.Identify}. */
  record Identified(Digest namespace) implements SchedulerReply {}

  /**
   * Answers {@link SchedulerRequest.Attach}.
   *
   * @param attached whether there is a cache now; the adapter goes on trying
   */
  record Attached(boolean attached) implements SchedulerReply {}

  /**
   * Answers {@link SchedulerRequest.Lookup}.
   *
   * @param standing how it stands
   * @param tokens with a hit, how many tokens behind the computed ones can be loaded; else 0
   */
  record Matched(Standing standing, int tokens) implements SchedulerReply {}

  /**
   * Answers {@link SchedulerRequest.Step}: orders to all workers. A request that was allocated with external tokens and
   * is not named by a load gets none: the connector reports it as failed.
   *
   * @param loads what to load
   * @param saves what to save, when the step's forward has run; their pages are held until every rank has reported
   * @param endedSeries series of which no save follows
   * @param stored saves of which every block can be found from now on, each named once
   * @param cleared whether every block that was stored has to be taken for gone, those of {@code stored} excepted
   * @param departed the engine's hashes of blocks that have left the cache; they are no chain, and may be of blocks that
   *     this engine has not saved
   */
  record Plan(List<Load> loads, List<Save> saves, long[] endedSeries, long[] stored, boolean cleared,
      PrefixChain departed) implements SchedulerReply {

    /** Copies the lists. */
    public Plan {
      loads = List.copyOf(loads);
      saves = List.copyOf(saves);
    }
  }

  /**
   * A load for a request.
   *
   * @param request the engine's id of the request
   * @param lease number of the lease that its blocks are held by
   * @param firstBlock index in the request's chain of the first block to load
   * @param pages the page of each block
   */
  record Load(String request, long lease, int firstBlock, int[] pages) {}

  /**
   * A save of blocks of a request. Saves of one series give its chain piece by piece.
   *
   * @param save its number; no other save of this engine has it
   * @param request the engine's id of the request
   * @param series which chain it continues; no other request of this engine has it
   * @param known how many hashes of the series were given by earlier saves; 0 in its first
   * @param hashes those behind them, as they are to be stored
   * @param firstBlock index in the chain of the first block to save
   * @param pages the page of each block
   */
  record Save(long save, String request, long series, int known, PrefixChain hashes, int firstBlock, int[] pages) {}

  /**
   * Answers {@link SchedulerRequest.Reset}.
   *
   * @param accepted whether everything saved so far is out of reach; false while a load, a save or a deferred request
   *     is under way, then nothing was changed
   */
  record ResetDone(boolean accepted) implements SchedulerReply {}

  /** Answers {@link SchedulerRequest.Counters}: counts since the scheduler attached, by name. */
  record Counted(Map<String, Long> values) implements SchedulerReply {

    /** Copies the map; it is in the order of its names. */
    public Counted {
      values = Collections.unmodifiableMap(new TreeMap<>(values));
    }
  }
}
