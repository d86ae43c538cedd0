package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.NixlTransport;
import java.util.List;

/**
 * With {@code bidirectional_kv_xfer} NIXL answers prefill's lookups too, and MultiConnector gives a request to the
 * first child that has anything, so that one of the two caches never loads. Decode then also keeps pages for
 * {@code decoder_kv_blocks_ttl}, which nothing here bounds.
 *
 * <p>{@code nixl/pull_scheduler.py: get_num_new_matched_tokens}, {@code multi_connector.py} of vLLM 0.31.0.
 */
record OneWayTransport() implements Rule {

  @Override
  public String name() {
    return "one-way-transport";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof NixlTransport nixl && nixl.bidirectional()
        ? List.of(new Violation(name(), "transport.bidirectional", "true",
            "false, since what earlier turns left is OrbitKV's to restore on prefill", "leave it out"))
        : List.of();
  }
}
