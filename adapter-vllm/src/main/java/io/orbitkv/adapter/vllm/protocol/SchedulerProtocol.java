package io.orbitkv.adapter.vllm.protocol;

/** The numbers that the adapter and the connector agree on. */
public final class SchedulerProtocol {

  /** This version. Another one is refused. */
  public static final int VERSION = 1;

  /** The release of vLLM whose contract this adapter translates. Another one is refused. */
  public static final String ENGINE_VERSION = "0.31.0";

  private SchedulerProtocol() {}
}
