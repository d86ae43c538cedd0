/** The cache itself: its state machines, the turns in which they run, and the embedded cache. */
@SuppressWarnings("module")
module io.orbitkv.core {
  requires transitive io.orbitkv.api;
  requires jdk.net;

  exports io.orbitkv.core;
  exports io.orbitkv.core.agent;
  exports io.orbitkv.core.client;
  exports io.orbitkv.core.manager;

  // What adapters are written with, and nobody else sees. They are compiled after this module, hence the annotation.
  exports io.orbitkv.core.adapter to io.orbitkv.adapter.sglang, io.orbitkv.adapter.vllm;
  exports io.orbitkv.core.identity to io.orbitkv.adapter.sglang, io.orbitkv.adapter.vllm;
  exports io.orbitkv.core.lifecycle to io.orbitkv.adapter.sglang, io.orbitkv.adapter.vllm;
  exports io.orbitkv.core.lookup to io.orbitkv.adapter.sglang, io.orbitkv.adapter.vllm;
  exports io.orbitkv.core.wire to io.orbitkv.adapter.sglang, io.orbitkv.adapter.vllm;

  uses io.orbitkv.api.spi.DeviceBackend;
  uses io.orbitkv.api.spi.HostMemory;
  uses io.orbitkv.api.spi.ResidencyPolicy;
  uses io.orbitkv.api.spi.StorageBackend;
  uses io.orbitkv.core.agent.EngineAdapter;
}
