package io.orbitkv.pd.composition;

/**
 * SGLang's disaggregation queues and one of their backends.
 *
 * @param backend that moves the pages
 * @param bootstrapSeconds how long prefill waits for decode to say where a request's pages go
 * @param waitingSeconds how long decode waits for the pages
 * @param deferredRelease whether decode keeps an aborted request's pages until prefill says that it writes no more
 * @param releaseSeconds how long decode keeps them without that word
 * @param earlySend whether prefill sends a cached prefix before it has computed the rest
 * @param checksum whether decode checks what arrived against a sum that prefill made
 * @param retraction where decode keeps the pages of a request that it takes back
 */
public record QueueTransport(
    Backend backend, int bootstrapSeconds, int waitingSeconds, boolean deferredRelease, int releaseSeconds,
    boolean earlySend, boolean checksum, Retraction retraction) implements Transport {

  /** What moves the pages. */
  public enum Backend {
    /** Mooncake over RDMA. */
    MOONCAKE("mooncake"),
    /** Mooncake over TCP. */
    MOONCAKE_TCP("mooncake_tcp"),
    /** NIXL. */
    NIXL("nixl"),
    /** MORI. */
    MORI("mori"),
    /** Ascend's. */
    ASCEND("ascend"),
    /** Moves nothing: for benchmarks. */
    FAKE("fake");

    private final String word;

    Backend(String word) {
      this.word = word;
    }

    /** Returns its name in a file and on the command line. */
    public String word() {
      return word;
    }
  }

  /** Where pages of a request that was taken back are kept. */
  public enum Retraction {
    /** In tensors of its own. */
    CPU_TENSOR("cpu_tensor"),
    /** In HiCache's pool. */
    HOST_POOL("host_pool"),
    /** Nowhere: the client asks again. */
    NONE("none");

    private final String word;

    Retraction(String word) {
      this.word = word;
    }

    /** Returns its name in a file and on the command line. */
    public String word() {
      return word;
    }
  }
}
