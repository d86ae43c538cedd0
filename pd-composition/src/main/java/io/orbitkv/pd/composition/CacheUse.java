package io.orbitkv.pd.composition;

/**
 * How the cache is used.
 *
 * @param sharing whether decode workers save for prefill workers
 * @param blockTokens tokens of a block, the same for all workers
 * @param deferMillis how long a prefill request waits for reads from the SSD before it does without, in milliseconds
 */
public record CacheUse(Sharing sharing, int blockTokens, int deferMillis) {

  /** Whether prefill and decode workers name the same bytes alike. */
  public enum Sharing {
    /** What one role saves, the other may find: the namespaces are one. */
    SHARED("shared"),
    /** Nothing of one role is found by the other: the scopes, and with them the namespaces, differ. */
    SEPARATE("separate");

    private final String word;

    Sharing(String word) {
      this.word = word;
    }

    /** Returns its name in a file. */
    public String word() {
      return word;
    }
  }
}
