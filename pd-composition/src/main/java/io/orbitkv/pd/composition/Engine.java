package io.orbitkv.pd.composition;

/** An engine, and the one release of it whose contract was read and tried. */
public enum Engine {
  /** vLLM. */
  VLLM("vllm", "0.31.0"),
  /** SGLang. */
  SGLANG("sglang", "0.5.22");

  private final String word;
  private final String pinned;

  Engine(String word, String pinned) {
    this.word = word;
    this.pinned = pinned;
  }

  /** Returns its name in a file. */
  public String word() {
    return word;
  }

  /** Returns the release that plans are made for. */
  public String pinnedRelease() {
    return pinned;
  }
}
