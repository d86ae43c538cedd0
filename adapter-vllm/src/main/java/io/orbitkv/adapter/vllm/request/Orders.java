package io.orbitkv.adapter.vllm.request;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.api.Departures;
import io.orbitkv.api.PrefixChain;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/** What a step orders and makes known. */
final class Orders {

  private final List<SchedulerReply.Load> loads = new ArrayList<>();
  private final List<SchedulerReply.Save> saves = new ArrayList<>();
  private final LongStream.Builder endedSeries = LongStream.builder();
  private final LongStream.Builder stored = LongStream.builder();

  void load(SchedulerReply.Load load) {
    loads.add(load);
  }

  void save(SchedulerReply.Save save) {
    saves.add(save);
  }

  void seriesEnded(long series) {
    endedSeries.add(series);
  }

  void stored(long save) {
    stored.add(save);
  }

  /**
   * Returns the plan.
   *
   * @param departures what has left the cache, by the engine's hashes
   */
  SchedulerReply.Plan plan(Departures departures) {
    return new SchedulerReply.Plan(loads, saves, endedSeries.build().toArray(), stored.build().toArray(),
        departures.all(), PrefixChain.of(departures.blocks()));
  }
}
