/** An engine adapter of somebody else's. */
module io.example.engine {
  requires io.orbitkv.core;

  provides io.orbitkv.core.agent.EngineAdapter with io.example.engine.StandInAdapter;
}
