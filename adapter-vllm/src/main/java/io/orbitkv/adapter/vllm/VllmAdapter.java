package io.orbitkv.adapter.vllm;

import io.orbitkv.adapter.vllm.serve.VllmEndpoint;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.EngineAdapter;
import io.orbitkv.core.agent.SchedulerEndpoint;

/** The adapter of vLLM. Found as a service. */
public final class VllmAdapter implements EngineAdapter {

  /** Opens nothing. */
  public VllmAdapter() {}

  @Override
  public String name() {
    return "vllm";
  }

  @Override
  public SchedulerEndpoint open(AdapterOptions options) {
    return VllmEndpoint.open(options);
  }
}
