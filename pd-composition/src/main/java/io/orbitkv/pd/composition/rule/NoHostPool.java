package io.orbitkv.pd.composition.rule;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.QueueTransport.Retraction;
import io.orbitkv.pd.composition.Role;
import java.util.List;

/**
 * {@code host_pool} has the tree initialise HiCache, and an external cache is linked to a tree without it only. Left to
 * the engine, it is chosen on decode for most models.
 *
 * <p>{@code mem_cache/registry.py: create_unified_radix_cache}, {@code mem_cache/kv_cache_builder.py:
 * resolve_decode_retraction_backup} of SGLang 0.5.22.
 */
record NoHostPool() implements Rule {

  @Override
  public String name() {
    return "no-host-pool";
  }

  @Override
  public List<Violation> broken(Composition composition) {
    return composition.transport() instanceof QueueTransport queues && queues.retraction() == Retraction.HOST_POOL
        && composition.workers(Role.DECODE).stream().anyMatch(worker -> worker.mode().saves())
        ? List.of(new Violation(name(), "transport.retraction", "'host_pool'",
            "'cpu_tensor' or 'none', since decode saves, and HiCache's pool takes the place of an external cache",
            "leave it out, or set the cache of decode to 'off'"))
        : List.of();
  }
}
