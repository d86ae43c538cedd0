package io.orbitkv.pd.composition;

/** What a worker does for a request. */
public enum Role {
  /** Computes the prompt. */
  PREFILL("prefill"),
  /** Computes what follows, in pages that the transport fills with the prompt's. */
  DECODE("decode");

  private final String word;

  Role(String word) {
    this.word = word;
  }

  /** Returns its name in a file. */
  public String word() {
    return word;
  }
}
