package io.orbitkv.cli.replay;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.cli.workload.Workload;
import java.util.Arrays;
import java.util.List;

/**
 * What is replayed, and how the stand-in engine is built.
 *
 * @param workload the prompts, in order
 * @param blockBytes bytes of a block over all ranks and layers
 * @param ranks ranks of the engine
 * @param layers layers of the engine; a block has a page of each on each rank
 * @param restartsAt after how many requests the cache is closed and opened again, ascending
 * @param seed decides which pages the engine uses
 */
public record ReplayPlan(
    Workload workload, long blockBytes, int ranks, int layers, List<Integer> restartsAt, long seed) {

  /** Memory of the engine's pools together; a longer prompt is served in pieces of as many blocks as fit. */
  private static final long POOL_BYTES = 128L << 20;

  private static final int MAX_PAGES = 512;

  /** Checks that pages have whole words, and that restarts lie within the workload. */
  public ReplayPlan {
    restartsAt = List.copyOf(restartsAt);
    if (ranks < 1 || ranks > ShardLayout.MAX_RANKS) {
      throw new RefusedException("world size is " + ranks + ", expected 1 to " + ShardLayout.MAX_RANKS);
    }
    if (layers < 1) {
      throw new RefusedException("an engine has " + layers + " layers, expected at least 1");
    }
    long unit = (long) Long.BYTES * ranks * layers;
    if (blockBytes < unit || blockBytes % unit != 0 || blockBytes / ranks > ShardLayout.MAX_SHARD_BYTES) {
      throw new RefusedException("block of " + blockBytes + " bytes, expected a multiple of " + unit + " (8 bytes x "
          + ranks + " ranks x " + layers + " layers) of at most 1GiB a rank");
    }
    int before = 0;
    for (int restart : restartsAt) {
      if (restart <= before || restart >= workload.prompts().size()) {
        throw new RefusedException("restart after request " + restart + ", expected ascending numbers from 1 to "
            + (workload.prompts().size() - 1) + ", one below the requests of the workload");
      }
      before = restart;
    }
  }

  /** Returns how a block is divided over the ranks. */
  public ShardLayout shards() {
    return new ShardLayout(ranks, Math.toIntExact(blockBytes / ranks));
  }

  /**
   * Returns what the stand-in engine states when it attaches. The same shape has the same namespace in every run, so that a
   * second replay over an SSD folder starts warm, and engines share what they saved.
   *
   * @param instance its name
   */
  SessionSpec session(String instance) {
    PageLayout layout = pages();
    int[] pageBytes = new int[layout.layers()];
    Arrays.fill(pageBytes, layout.pageBytes());
    Namespace namespace = Namespace.builder("orbitkv-replay", "1", Digest.ZERO)
        .layout("layer-major", pageBytes)
        .parallel(ranks, 1)
        .build();
    return new SessionSpec(instance, namespace, shards());
  }

  /** Returns each rank's pool: layer-major, with as many pages as the memory for it allows. */
  PageLayout pages() {
    int pageBytes = Math.toIntExact(blockBytes / ranks / layers);
    int pages = Math.clamp(POOL_BYTES / blockBytes, 8, MAX_PAGES);
    return new PageLayout(layers, pages, pageBytes, (long) pageBytes * pages, pageBytes);
  }
}
