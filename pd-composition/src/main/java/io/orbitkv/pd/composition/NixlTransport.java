package io.orbitkv.pd.composition;

/**
 * vLLM's NixlConnector.
 *
 * @param mode who moves the pages
 * @param leaseSeconds how long prefill keeps a finished request's pages for decode without a sign of life of it
 * @param bidirectional whether prefill also fetches earlier turns from decode
 */
public record NixlTransport(Mode mode, int leaseSeconds, boolean bidirectional) implements Transport {

  /** Who moves the pages. */
  public enum Mode {
    /** Decode reads. */
    PULL("pull"),
    /** Prefill writes. */
    PUSH("push");

    private final String word;

    Mode(String word) {
      this.word = word;
    }

    /** Returns its name in a file. */
    public String word() {
      return word;
    }
  }
}
