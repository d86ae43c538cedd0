package io.orbitkv.adapter.sglang;

import io.orbitkv.adapter.sglang.serve.SglangEndpoint;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.EngineAdapter;
import io.orbitkv.core.agent.SchedulerEndpoint;

/** The adapter of SGLang. Found as a service. */
public final class SglangAdapter implements EngineAdapter {

  /** Opens nothing. */
  public SglangAdapter() {}

  @Override
  public String name() {
    return "sglang";
  }

  @Override
  public SchedulerEndpoint open(AdapterOptions options) {
    return SglangEndpoint.open(options);
  }
}
