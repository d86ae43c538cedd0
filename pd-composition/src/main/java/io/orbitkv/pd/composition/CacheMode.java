package io.orbitkv.pd.composition;

/** What a worker does with the cache. */
public enum CacheMode {
  /** Restores prefixes and saves blocks. */
  READ_WRITE("read-write"),
  /** Saves blocks of requests that finished well, and restores nothing. */
  SAVE("save"),
  /** Restores prefixes, and saves nothing. */
  READ("read"),
  /** Has no cache. */
  OFF("off");

  private final String word;

  CacheMode(String word) {
    this.word = word;
  }

  /** Returns its name in a file. */
  public String word() {
    return word;
  }

  /** Returns whether it restores. */
  public boolean reads() {
    return this == READ_WRITE || this == READ;
  }

  /** Returns whether it saves. */
  public boolean saves() {
    return this == READ_WRITE || this == SAVE;
  }
}
