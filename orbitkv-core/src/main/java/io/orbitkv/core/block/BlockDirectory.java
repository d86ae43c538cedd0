package io.orbitkv.core.block;

import io.orbitkv.api.PrefixChain;
import java.util.Arrays;

/**
 * Finds the row of a name. Open addressing with linear probing and backward-shift deletion, in 4,096 parts that grow
 * one by one, so that growing never stops the core for longer than it takes to move a 4,096th of the rows.
 *
 * <p>A slot is a long: the upper half a tag of the hash, the lower half the row number plus one, zero for empty. A
 * probe that misses reads one cache line; one that hits reads the row's first line too and compares the whole name.
 */
public final class BlockDirectory {

  private static final int PART_BITS = 12;
  private static final int INITIAL_SLOTS = 8;
  private static final long ROW_MASK = 0xffff_ffffL;

  private final BlockTable table;
  private final long seed;
  private final long[][] parts = new long[1 << PART_BITS][];
  private final int[] sizes = new int[1 << PART_BITS];

  /**
   * @param table where the rows are
   * @param seed makes the distribution unpredictable to whoever chooses the names
   */
  public BlockDirectory(BlockTable table, long seed) {
    this.table = table;
    this.seed = seed;
  }

  /** Returns the row of a chain's block in a scope, or {@link BlockTable#NONE}. */
  public int find(int scope, PrefixChain chain, int block) {
    return find(scope, chain.word(block, 0), chain.word(block, 1), chain.word(block, 2), chain.word(block, 3));
  }

  /** Returns the row of a name, or {@link BlockTable#NONE}. */
  public int find(int scope, long w0, long w1, long w2, long w3) {
    long hash = hash(scope, w0, w1, w2, w3);
    long[] slots = parts[part(hash)];
    if (slots == null) {
      return BlockTable.NONE;
    }
    int mask = slots.length - 1;
    long tag = hash & ~ROW_MASK;
    for (int i = (int) hash & mask; ; i = i + 1 & mask) {
      long slot = slots[i];
      if (slot == 0) {
        return BlockTable.NONE;
      }
      if ((slot & ~ROW_MASK) == tag) {
        int row = (int) slot - 1;
        if (table.is(row, scope, w0, w1, w2, w3)) {
          return row;
        }
      }
    }
  }

  /** Adds a row whose name is not there yet. */
  public void add(int row) {
    long hash = hash(row);
    int part = part(hash);
    long[] slots = parts[part];
    if (slots == null) {
      slots = parts[part] = new long[INITIAL_SLOTS];
    } else if ((sizes[part] + 1) * 4 > slots.length * 3) {
      slots = parts[part] = grown(slots);
    }
    put(slots, hash, row);
    sizes[part]++;
  }

  /** Takes out a row that is there. */
  public void remove(int row) {
    long hash = hash(row);
    int part = part(hash);
    long[] slots = parts[part];
    int mask = slots.length - 1;
    int hole = (int) hash & mask;
    while ((int) slots[hole] - 1 != row) {
      if (slots[hole] == 0) {
        throw new IllegalStateException("row " + row + " is not in the directory");
      }
      hole = hole + 1 & mask;
    }
    for (int i = hole + 1 & mask; slots[i] != 0; i = i + 1 & mask) {
      int home = (int) hash((int) slots[i] - 1) & mask;
      // The entry may move to the hole unless its home lies behind the hole, on the way to where it is.
      if ((i - home & mask) >= (i - hole & mask)) {
        slots[hole] = slots[i];
        hole = i;
      }
    }
    slots[hole] = 0;
    sizes[part]--;
  }

  /** Returns a hash of a name that does not depend on this process. */
  public static long fingerprint(long w0, long w1) {
    return mix(w0 ^ Long.rotateLeft(w1, 32));
  }

  private long[] grown(long[] slots) {
    long[] larger = new long[slots.length * 2];
    Arrays.stream(slots).filter(slot -> slot != 0).forEach(slot -> {
      int row = (int) slot - 1;
      put(larger, hash(row), row);
    });
    return larger;
  }

  private static void put(long[] slots, long hash, int row) {
    int mask = slots.length - 1;
    int i = (int) hash & mask;
    while (slots[i] != 0) {
      i = i + 1 & mask;
    }
    slots[i] = hash & ~ROW_MASK | row + 1L;
  }

  private long hash(int row) {
    return hash(table.scope(row), table.word(row, 0), table.word(row, 1), table.word(row, 2), table.word(row, 3));
  }

  /** The seed goes in first, so that whoever chooses names does not know which of them meet. */
  private long hash(int scope, long w0, long w1, long w2, long w3) {
    long hash = stir(seed + scope, w0);
    hash = stir(hash, w1);
    hash = stir(hash, w2);
    return mix(stir(hash, w3));
  }

  private static long stir(long hash, long word) {
    long product = (hash ^ word) * 0x9e3779b97f4a7c15L;
    return product ^ product >>> 32;
  }

  private static int part(long hash) {
    return (int) (hash >>> 64 - PART_BITS);
  }

  /** The finalizer of MurmurHash3's 64-bit variant: every input bit reaches every output bit. */
  private static long mix(long z) {
    z = (z ^ z >>> 33) * 0xff51afd7ed558ccdL;
    z = (z ^ z >>> 33) * 0xc4ceb9fe1a85ec53L;
    return z ^ z >>> 33;
  }
}
