package io.orbitkv.core.machine;

import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.block.BlockDirectory;
import io.orbitkv.core.block.BlockTable;
import io.orbitkv.core.block.Scope;
import io.orbitkv.core.lifecycle.ExtentState;
import io.orbitkv.core.lifecycle.ResidenceState;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.function.LongUnaryOperator;

/** The blocks that are known: their rows, the way from names to rows, and the scopes that names begin with. */
final class Blocks implements AutoCloseable {

  private record ScopeName(Namespace namespace, int group) {}

  private final BlockTable table = new BlockTable();
  private final BlockDirectory directory;
  private final List<Scope> scopes = new ArrayList<>();
  private final Map<ScopeName, Scope> scopesByName = new HashMap<>();
  /** The numbers of scopes that were replaced. */
  private final BitSet dropped = new BitSet();
  private final LongUnaryOperator recordBytes;
  private final DepartureLog departures;

  /**
   * @param seed for the directory
   * @param recordBytes from the bytes of a payload to the bytes of its record
   */
  Blocks(long seed, LongUnaryOperator recordBytes) {
    this.directory = new BlockDirectory(table, seed);
    this.recordBytes = recordBytes;
    this.departures = new DepartureLog(seed);
  }

  BlockTable table() {
    return table;
  }

  DepartureLog departures() {
    return departures;
  }

  List<Scope> scopes() {
    return scopes;
  }

  /**
   * Returns the scope of a name, made if it is new.
   *
   * @throws RefusedException if the name is in use with another layout
   */
  Scope scope(Namespace namespace, int group, ShardLayout layout) {
    Scope scope = scopesByName.computeIfAbsent(new ScopeName(namespace, group), name -> {
      Scope made = new Scope(
          scopes.size(), namespace, group, layout, recordBytes.applyAsLong(layout.blockBytes()));
      scopes.add(made);
      return made;
    });
    if (!scope.layout().equals(layout)) {
      throw new RefusedException("namespace " + namespace + " holds blocks of " + scope.layout().ranks() + " x "
          + scope.layout().shardBytes() + " bytes, and " + layout.ranks() + " x " + layout.shardBytes()
          + " were stated; a change of layout must change the namespace");
    }
    return scope;
  }

  /**
   * Gives the scopes of a namespace new numbers, so that no name leads to what is there now.
   *
   * @return the scopes as they were; {@link #isDropped} says which they are
   */
  List<Scope> drop(Namespace namespace) {
    List<Scope> old = scopesByName.values().stream().filter(scope -> scope.namespace().equals(namespace)).toList();
    for (Scope scope : old) {
      dropped.set(scope.number());
      scopesByName.remove(new ScopeName(namespace, scope.group()));
      scope(namespace, scope.group(), scope.layout());
    }
    return old;
  }

  /** Returns whether no name leads to a row any more. */
  boolean isDropped(int row) {
    return dropped.get(table.scope(row));
  }

  Scope scopeOf(int row) {
    return scopes.get(table.scope(row));
  }

  int find(Scope scope, PrefixChain chain, int block) {
    return directory.find(scope.number(), chain, block);
  }

  int find(Scope scope, Digest key) {
    return directory.find(scope.number(), key.w0(), key.w1(), key.w2(), key.w3());
  }

  int create(Scope scope, PrefixChain chain, int block, int parent) {
    int row = table.create(scope.number(), chain.word(block, 0), chain.word(block, 1), chain.word(block, 2),
        chain.word(block, 3), parent, block);
    directory.add(row);
    return row;
  }

  int create(Scope scope, Digest key, int depth) {
    int row = table.create(
        scope.number(), key.w0(), key.w1(), key.w2(), key.w3(), BlockTable.NONE, depth);
    directory.add(row);
    return row;
  }

  long fingerprint(int row) {
    return BlockDirectory.fingerprint(table.word(row, 0), table.word(row, 1));
  }

  long fingerprint(PrefixChain chain, int block) {
    return BlockDirectory.fingerprint(chain.word(block, 0), chain.word(block, 1));
  }

  /**
   * Returns how many leading blocks of a chain satisfy a prefix-closed condition: the whole chain if its last block
   * does, else found by doubling and halving, in O(log n) probes.
   *
   * @param limit how many blocks of the chain to consider
   */
  int longest(Scope scope, PrefixChain chain, int limit, IntPredicate condition) {
    if (limit == 0 || holds(scope, chain, limit, condition)) {
      return limit;
    }
    int good = 0;
    int bad = limit;
    for (int count = 1; count < bad; count *= 2) {
      if (!holds(scope, chain, count, condition)) {
        bad = count;
        break;
      }
      good = count;
    }
    while (bad - good > 1) {
      int middle = good + bad >>> 1;
      if (holds(scope, chain, middle, condition)) {
        good = middle;
      } else {
        bad = middle;
      }
    }
    return good;
  }

  private boolean holds(Scope scope, PrefixChain chain, int count, IntPredicate condition) {
    int row = find(scope, chain, count - 1);
    return row != BlockTable.NONE && condition.test(row);
  }

  /** No query finds a row any more that one could find. */
  void left(int row) {
    if (table.flag(row, BlockTable.FLAG_FOUND)) {
      table.flag(row, BlockTable.FLAG_FOUND, false);
      departures.left(table.scope(row), table.word(row, 0), table.word(row, 1), table.word(row, 2), table.word(row, 3));
    }
  }

  /** Gives back a row that has no bytes, no child and no holder, and then its ancestors likewise. */
  void releaseUnused(int row) {
    while (row != BlockTable.NONE
        && table.residence(row) == ResidenceState.ABSENT
        && table.extent(row) == ExtentState.ABSENT
        && table.firstChild(row) == BlockTable.NONE
        && table.holds(row) == 0) {
      int parent = table.parent(row);
      left(row);
      directory.remove(row);
      table.free(row);
      row = parent;
    }
  }

  @Override
  public void close() {
    table.close();
  }
}
