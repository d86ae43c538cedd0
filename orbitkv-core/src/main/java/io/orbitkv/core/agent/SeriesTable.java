package io.orbitkv.core.agent;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The chains that an engine's saves continue: a request that grows is saved block by block, and each save states its
 * new hashes only. When the table is full, the series that was used least recently is forgotten; a save that continues
 * it is refused, and the engine begins it anew.
 *
 * <p>Used by one thread.
 */
final class SeriesTable {

  private final int maxSeries;
  private final long maxBlocks;
  private final Map<Long, PrefixChain> chains = new LinkedHashMap<>(16, 0.75f, true);
  private long blocks;

  SeriesTable(int maxSeries, long maxBlocks) {
    this.maxSeries = maxSeries;
    this.maxBlocks = maxBlocks;
  }

  /**
   * Returns the whole chain of a save. Nothing is kept of it yet.
   *
   * @param series the series, or zero for a save that stands alone
   * @param known how many hashes of the series are taken over
   * @param more those behind them
   * @throws ClosedException if the series is not known so far
   */
  PrefixChain continued(long series, int known, PrefixChain more) {
    if (known < 0 || series == 0 && known != 0) {
      throw new RefusedException("save of series " + series + " states " + known + " known blocks, expected "
          + (series == 0 ? "0 outside of a series" : "0 or more"));
    }
    if (known == 0) {
      return more;
    }
    PrefixChain chain = chains.get(series);
    if (chain == null || chain.blocks() < known) {
      throw new ClosedException("series " + series + " is known to block " + (chain == null ? 0 : chain.blocks())
          + ", and a save continues it from " + known + "; state its chain from the start");
    }
    long whole = (long) known + more.blocks();
    if (whole > PrefixChain.MAX_BLOCKS) {
      throw new RefusedException("series " + series + " would have " + whole + " blocks, expected at most "
          + PrefixChain.MAX_BLOCKS);
    }
    ByteBuffer hashes = ByteBuffer.allocate((int) whole * Digest.BYTES);
    chain.first(known).write(hashes);
    more.write(hashes);
    return PrefixChain.read(hashes.flip());
  }

  /** Keeps a chain, for the next save of its series. */
  void keep(long series, PrefixChain chain) {
    if (series == 0) {
      return;
    }
    forget(series);
    chains.put(series, chain);
    blocks += chain.blocks();
    Iterator<PrefixChain> oldest = chains.values().iterator();
    while (chains.size() > maxSeries || blocks > maxBlocks) {
      blocks -= oldest.next().blocks();
      oldest.remove();
    }
  }

  /** No save of this series follows. */
  void forget(long series) {
    PrefixChain chain = chains.remove(series);
    if (chain != null) {
      blocks -= chain.blocks();
    }
  }
}
