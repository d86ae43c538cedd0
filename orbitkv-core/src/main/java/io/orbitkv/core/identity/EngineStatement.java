package io.orbitkv.core.identity;

import io.orbitkv.api.Digest;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * All that a namespace follows from, as an engine states it.
 *
 * @param engine the engine's name in lower case
 * @param engineVersion its release
 * @param modelPath absolute path of the model's folder, or of its one file
 * @param assertedDigest what the operator states instead of a digest of the files
 * @param adapterPaths absolute paths of the fixed set of local adapters, in the order in which the facts name them
 * @param facts whatever else decides what the bytes mean; each name once
 */
public record EngineStatement(String engine, String engineVersion, String modelPath, Optional<Digest> assertedDigest,
    List<String> adapterPaths, List<Fact> facts) {

  /** A setting of the engine and its value. */
  public record Fact(String name, String value) {}

  /** Copies the lists. */
  public EngineStatement {
    Objects.requireNonNull(engine, "engine");
    Objects.requireNonNull(engineVersion, "engineVersion");
    adapterPaths = List.copyOf(adapterPaths);
    facts = List.copyOf(facts);
  }
}
