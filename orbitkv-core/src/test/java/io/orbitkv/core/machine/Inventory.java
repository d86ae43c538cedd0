package io.orbitkv.core.machine;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.lifecycle.ExtentState;
import io.orbitkv.core.lifecycle.ResidenceState;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What a core could serve and what it is doing, found the slow way. */
public final class Inventory {

  private Inventory() {}

  /**
   * Returns the blocks that could be read from the store even if nothing were in memory.
   *
   * @return their places by their names; a place has the segment in its upper half and the offset in its lower
   */
  public static Map<String, Long> readable(CacheCore core) {
    BlockTable table = core.blocks().table();
    Map<String, Long> places = new HashMap<>();
    for (int row = 0; row < table.limit(); row++) {
      if (table.exists(row) && isReadable(core, row)) {
        places.put(core.blocks().scopeOf(row).namespace() + "/" + table.key(row).toHex(), table.storeAt(row));
      }
    }
    return places;
  }

  /** Returns how many blocks of a namespace can be named and are in memory, on their way there, or on the SSD. */
  public static long blocks(CacheCore core, Namespace namespace) {
    BlockTable table = core.blocks().table();
    return IntStream.range(0, table.limit()).filter(row -> table.exists(row) && !core.blocks().isDropped(row)
        && core.blocks().scopeOf(row).namespace().equals(namespace)).count();
  }

  /** Returns how many leading blocks of a chain are in memory for a session to see. */
  public static int resident(CacheCore core, CoreSession session, PrefixChain chain) {
    return leading(core, session, chain, core.blocks().table()::isResident);
  }

  /** Returns how many leading blocks of a chain a session could be served, from memory or the store. */
  public static int visible(CacheCore core, CoreSession session, PrefixChain chain) {
    BlockTable table = core.blocks().table();
    boolean readable = core.tier().health() != StoreHealth.OFF;
    return leading(core, session, chain,
        row -> table.isResident(row) || readable && table.extent(row) == ExtentState.COMMITTED);
  }

  private static int leading(CacheCore core, CoreSession session, PrefixChain chain, IntPredicate condition) {
    int count = 0;
    while (count < chain.blocks()) {
      int row = core.blocks().find(session.scope, chain, count);
      if (row == BlockTable.NONE || !condition.test(row)) {
        break;
      }
      count++;
    }
    return count;
  }

  /** Returns the blocks of a session's namespace that a query could find, or wait for. */
  public static Set<Digest> there(CacheCore core, CoreSession session) {
    BlockTable table = core.blocks().table();
    return blocks(core, session, row -> table.residence(row) != ResidenceState.ABSENT || core.tier().isReadable(row));
  }

  /** Returns the blocks of a session's namespace that a query could find. */
  public static Set<Digest> findable(CacheCore core, CoreSession session) {
    BlockTable table = core.blocks().table();
    return blocks(core, session, row -> table.isResident(row) || core.tier().isReadable(row));
  }

  private static Set<Digest> blocks(CacheCore core, CoreSession session, IntPredicate condition) {
    BlockTable table = core.blocks().table();
    return IntStream.range(0, table.limit())
        .filter(row -> table.exists(row) && table.scope(row) == session.scope.number() && condition.test(row))
        .mapToObj(table::key).collect(Collectors.toSet());
  }

  /** Returns how many reads that somebody waits for are under way. */
  public static int reads(CacheCore core) {
    return requests(core, StoreRequest.Read.class);
  }

  /** Returns how many first writes of blocks are under way. */
  public static int writes(CacheCore core) {
    return requests(core, StoreRequest.Write.class);
  }

  private static int requests(CacheCore core, Class<? extends StoreRequest> kind) {
    int[] count = {0};
    core.tier().forEachRequest(request -> count[0] += kind.isInstance(request) ? 1 : 0);
    return count[0];
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
