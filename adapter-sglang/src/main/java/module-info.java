/** The adapter of SGLang: what its ranks ask becomes queries of a cache, and one lease for all of them. */
module io.orbitkv.adapter.sglang {
  requires io.orbitkv.api;
  requires io.orbitkv.core;

  provides io.orbitkv.core.agent.EngineAdapter with io.orbitkv.adapter.sglang.SglangAdapter;
}
