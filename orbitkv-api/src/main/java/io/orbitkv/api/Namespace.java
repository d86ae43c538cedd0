package io.orbitkv.api;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Names one meaning of stored bytes: two engines may exchange blocks exactly when their namespaces are equal. It is the
 * SHA-256 of a canonical record of everything that decides what the bytes mean, built once at start-up by a
 * {@link Builder}, never on a request.
 *
 * <p>GPU addresses, pool sizes and process ids do not enter: a restart with a larger pool must still hit.
 *
 * @param digest the 256 bits of the name
 */
public record Namespace(Digest digest) {

  /** Domain and version of the canonical record; a change of its form changes this and with it every name. */
  private static final String DOMAIN = "orbitkv/namespace/1";

  /** Checks for null. */
  public Namespace {
    Objects.requireNonNull(digest, "digest");
  }

  /**
   * Starts a name.
   *
   * @param engine the engine that computes the bytes, as "vllm"
   * @param engineVersion its exact release, as "0.31.0"
   * @param model content digest of the model's files, or a digest that the operator asserts
   * @return a builder with nothing else stated
   */
  public static Builder builder(String engine, String engineVersion, Digest model) {
    return new Builder(engine, engineVersion, model);
  }

  /** Returns the first 12 hexadecimal digits, for messages. */
  @Override
  public String toString() {
    return digest.toString();
  }

  /**
   * Collects what decides the meaning of the bytes. Each fact has a name; a fact left out is distinct from an empty
   * one. Not thread-safe.
   */
  public static final class Builder {

    private final Map<String, byte[]> facts = new TreeMap<>();

    private Builder(String engine, String engineVersion, Digest model) {
      text("engine", engine);
      text("engine-version", engineVersion);
      facts.put("model", model.toBytes());
    }

    /** States a setting of the computation, as quantization, attention backend or rope scaling. */
    public Builder computation(String name, String value) {
      return text("computation/" + requireName(name), value);
    }

    /** States the element type of keys and values, as "bfloat16" or "fp8_e4m3". */
    public Builder kvDtype(String dtype) {
      return text("kv-dtype", dtype);
    }

    /** States the engine's own name of the page layout and the bytes of one page of each layer, in layer order. */
    public Builder layout(String name, int... pageBytesPerLayer) {
      text("layout", name);
      ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES * pageBytesPerLayer.length);
      for (int pageBytes : pageBytesPerLayer) {
        bytes.putInt(pageBytes);
      }
      facts.put("layout/page-bytes", bytes.array());
      return this;
    }

    /** States how many tokens a block holds. */
    public Builder blockTokens(int tokens) {
      return number("block-tokens", tokens);
    }

    /** States the parallel shape of the model. */
    public Builder parallel(int tensorRanks, int pipelineRanks) {
      return number("tensor-ranks", tensorRanks).number("pipeline-ranks", pipelineRanks);
    }

    /** States the content digest of the fixed set of adapters that the engine serves. */
    public Builder adapters(Digest set) {
      facts.put("adapters", set.toBytes());
      return this;
    }

    /** States an operator's own division of the cache, as a tenant's name. */
    public Builder scope(String scope) {
      return text("scope", scope);
    }

    /** States which weights are loaded; raised whenever they change under a running engine. */
    public Builder weightsGeneration(long generation) {
      return number("weights-generation", generation);
    }

    /** Returns the name. The order in which facts were stated does not matter. */
    public Namespace build() {
      ByteArrayOutputStream record = new ByteArrayOutputStream();
      frame(record, DOMAIN.getBytes(StandardCharsets.UTF_8));
      facts.forEach((name, value) -> {
        frame(record, name.getBytes(StandardCharsets.UTF_8));
        frame(record, value);
      });
      return new Namespace(Digest.sha256(record.toByteArray()));
    }

    private Builder text(String name, String value) {
      facts.put(name, value.getBytes(StandardCharsets.UTF_8));
      return this;
    }

    private Builder number(String name, long value) {
      facts.put(name, ByteBuffer.allocate(Long.BYTES).putLong(value).array());
      return this;
    }

    private static String requireName(String name) {
      if (name.isBlank()) {
        throw new RefusedException("a computation setting has a blank name; state which setting it is");
      }
      return name;
    }

    /** Length before bytes, so that no two records of different facts have the same encoding. */
    private static void frame(ByteArrayOutputStream record, byte[] bytes) {
      record.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).array());
      record.writeBytes(bytes);
    }
  }
}
