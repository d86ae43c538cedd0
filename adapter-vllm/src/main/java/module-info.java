/** The adapter of vLLM: what its scheduler asks becomes queries of a cache, and orders to its workers. */
module io.orbitkv.adapter.vllm {
  requires io.orbitkv.api;
  requires io.orbitkv.core;

  provides io.orbitkv.core.agent.EngineAdapter with io.orbitkv.adapter.vllm.VllmAdapter;
}
