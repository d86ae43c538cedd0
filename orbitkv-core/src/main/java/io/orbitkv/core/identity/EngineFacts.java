package io.orbitkv.core.identity;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.RefusedException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The settings that a connector states, beside the model's files. A setting that is left out would be a difference that
 * nobody sees, so those that no engine is without are required.
 *
 * @param values by name
 */
record EngineFacts(Map<String, String> values) {

  private static final String SCOPE = "scope";
  private static final String KV_DTYPE = "cache.dtype";

  private static final List<String> REQUIRED = List.of("model.dtype", KV_DTYPE, "cache.block_tokens", "hash.algorithm",
      "hash.probe", "parallel.tensor", "pages.layout", "pages.backends", "pages.pieces", SCOPE);

  private static final int MAX_FACTS = 256;

  /** Copies the map. */
  EngineFacts {
    values = Map.copyOf(values);
  }

  /**
   * Checks what was stated.
   *
   * @throws RefusedException if one is missing, or stated twice, or has no name
   */
  static EngineFacts of(List<EngineStatement.Fact> facts) {
    if (facts.size() > MAX_FACTS) {
      throw new RefusedException(facts.size() + " facts are stated, expected at most " + MAX_FACTS);
    }
    Map<String, String> values = new TreeMap<>();
    for (EngineStatement.Fact fact : facts) {
      if (fact.name().isBlank() || values.put(fact.name(), fact.value()) != null) {
        throw new RefusedException("fact '" + fact.name() + "' is stated twice, or has no name");
      }
    }
    List<String> missing = new ArrayList<>(REQUIRED);
    missing.removeAll(values.keySet());
    if (!missing.isEmpty()) {
      throw new RefusedException("facts " + missing + " are not stated, and blocks that differ in them would be taken "
          + "for one another; install the same release of the connector and of OrbitKV");
    }
    return new EngineFacts(values);
  }

  /**
   * Returns the namespace.
   *
   * @param stated by which release of which engine
   * @param model digest of the model
   * @param adapters digests of the adapters, in the order in which the facts name them
   */
  Namespace namespace(EngineStatement stated, Digest model, List<Digest> adapters) {
    Namespace.Builder name = Namespace.builder(stated.engine(), stated.engineVersion(), model);
    values.forEach((fact, value) -> {
      switch (fact) {
        case SCOPE -> name.scope(value);
        case KV_DTYPE -> name.kvDtype(value);
        default -> name.computation(fact, value);
      }
    });
    if (!adapters.isEmpty()) {
      ByteBuffer digests = ByteBuffer.allocate(adapters.size() * Digest.BYTES);
      adapters.forEach(adapter -> digests.put(adapter.toBytes()));
      name.adapters(Digest.sha256(digests.array()));
    }
    return name.build();
  }
}
