package io.orbitkv.core.machine;

import io.orbitkv.core.block.BlockTable;
import java.util.HashSet;
import java.util.Set;

/** What a core could serve, by name. */
public final class Inventory {

  private Inventory() {}

  /** Returns the names of the blocks that could be read from the store even if nothing were in memory. */
  public static Set<String> readable(CacheCore core) {
    BlockTable table = core.blocks().table();
    Set<String> names = new HashSet<>();
    for (int row = 0; row < table.limit(); row++) {
      if (table.exists(row) && isReadable(core, row)) {
        names.add(core.blocks().scopeOf(row).namespace() + "/" + table.key(row).toHex());
      }
    }
    return names;
  }

  /** Returns the state of the store tier in words. */
  public static String describe(CacheCore core) {
    return core.tier().toString();
  }

  /** Returns how many extents were carried over to another segment. */
  public static long carried(CacheCore core) {
    return core.tier().carried();
  }

  private static boolean isReadable(CacheCore core, int row) {
    for (int at = row; at != BlockTable.NONE; at = core.blocks().table().parent(at)) {
      if (!core.tier().isReadable(at)) {
        return false;
      }
    }
    return true;
  }
}
