package io.orbitkv.api.spi;

import io.orbitkv.api.RefusedException;
import java.util.List;

/**
 * Where an engine's pages lie: groups of equal layers, all with the same page numbers. The page {@code p} of a block is
 * page {@code p} of every layer of every group. A shard packs them: group behind group, in each layer behind layer.
 * Layers are numbered through all groups.
 *
 * @param groups 1 to {@value #MAX_GROUPS}, in the order in which shards hold them
 */
public record PoolLayout(List<PageLayout> groups) {

  /** The most groups of one pool: one for each layer of a deep model. */
  public static final int MAX_GROUPS = 512;

  /** Checks that the groups fit together. */
  public PoolLayout {
    groups = List.copyOf(groups);
    if (groups.isEmpty() || groups.size() > MAX_GROUPS) {
      throw new RefusedException("pool has " + groups.size() + " groups of layers, expected 1 to " + MAX_GROUPS);
    }
    PageLayout first = groups.getFirst();
    for (int i = 0; i < groups.size(); i++) {
      PageLayout group = groups.get(i);
      if (group.pages() != first.pages()) {
        throw new RefusedException("group " + i + " has " + group.pages() + " pages and group 0 " + first.pages()
            + ", expected as many in each");
      }
      for (int j = 0; j < i; j++) {
        if (!group.apartFrom(groups.get(j))) {
          throw new RefusedException("groups " + j + " and " + i + " share bytes of the pool, or cannot be told apart: "
              + groups.get(j) + ", " + group);
        }
      }
    }
    long shardBytes = 0;
    for (PageLayout group : groups) {
      shardBytes += (long) group.layers() * group.pageBytes();
    }
    if (shardBytes > Integer.MAX_VALUE) {
      throw new RefusedException("a shard of this pool has " + shardBytes + " bytes, expected less than 2 GiB");
    }
  }

  /**
   * A pool with one group.
   *
   * @param group its layers
   */
  public static PoolLayout of(PageLayout group) {
    return new PoolLayout(List.of(group));
  }

  /** Returns the number of pages. */
  public int pages() {
    return groups.getFirst().pages();
  }

  /** Returns the number of layers in all groups. */
  public int layers() {
    return groups.stream().mapToInt(PageLayout::layers).sum();
  }

  /** Returns the bytes of one block's shard. */
  public int shardBytes() {
    return groups.stream().mapToInt(PageLayout::shardBytes).sum();
  }

  /** Returns the bytes that the pool must have. */
  public long poolBytes() {
    return groups.stream().mapToLong(PageLayout::poolBytes).max().orElseThrow();
  }
}
