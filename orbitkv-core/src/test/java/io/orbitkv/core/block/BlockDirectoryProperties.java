package io.orbitkv.core.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** The table and its directory beside maps that say what they must hold. */
class BlockDirectoryProperties {

  private record Name(int scope, Digest key) {}

  private static final int STEPS = 400;

  private static final class Blocks implements AutoCloseable {
    final BlockTable table = new BlockTable();
    final BlockDirectory directory;

    Blocks(long seed) {
      this.directory = new BlockDirectory(table, seed);
    }

    int find(Name name) {
      Digest key = name.key;
      return directory.find(name.scope, key.w0(), key.w1(), key.w2(), key.w3());
    }

    int add(Name name, int parent, int depth) {
      Digest key = name.key;
      int row = table.create(name.scope, key.w0(), key.w1(), key.w2(), key.w3(), parent, depth);
      directory.add(row);
      return row;
    }

    void remove(int row) {
      directory.remove(row);
      table.free(row);
    }

    List<Integer> children(int row) {
      List<Integer> children = new ArrayList<>();
      for (int child = table.firstChild(row); child != BlockTable.NONE; child = table.nextSibling(child)) {
        children.add(child);
      }
      return children;
    }

    @Override
    public void close() {
      table.close();
    }
  }

  @Property(tries = 60)
  void findsWhatWasAddedAndNothingElse(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Map<Name, Integer> rows = new HashMap<>();
    Map<Integer, Set<Integer>> children = new HashMap<>();
    Map<Integer, Integer> parents = new HashMap<>();
    int mostRows = 0;
    try (Blocks blocks = new Blocks(seed)) {
      for (int step = 0; step < STEPS; step++) {
        Name name = name(random);
        Integer known = rows.get(name);
        assertThat(blocks.find(name)).isEqualTo(known == null ? BlockTable.NONE : known);
        if (known == null) {
          List<Integer> others = List.copyOf(rows.values());
          int parent = others.isEmpty() || random.nextInt(4) == 0
              ? BlockTable.NONE : others.get(random.nextInt(others.size()));
          int row = blocks.add(name, parent, random.nextInt(9));
          assertThat(rows.values()).as("rows in use").doesNotContain(row);
          rows.put(name, row);
          parents.put(row, parent);
          children.put(row, new HashSet<>());
          if (parent != BlockTable.NONE) {
            children.get(parent).add(row);
          }
          mostRows = Math.max(mostRows, rows.size());
        } else if (children.get(known).isEmpty()) {
          blocks.remove(known);
          rows.remove(name);
          children.remove(known);
          int parent = parents.remove(known);
          if (parent != BlockTable.NONE) {
            children.get(parent).remove(known);
          }
          assertThat(blocks.table.exists(known)).isFalse();
        }
      }
      assertThat(blocks.table.rows()).isEqualTo(rows.size());
      assertThat(blocks.table.limit()).as("rows are used again").isEqualTo(mostRows);
      rows.forEach((name, row) -> {
        assertThat(blocks.find(name)).isEqualTo(row);
        assertThat(blocks.table.exists(row)).isTrue();
        assertThat(blocks.table.scope(row)).isEqualTo(name.scope);
        assertThat(blocks.table.key(row)).isEqualTo(name.key);
        assertThat(blocks.table.parent(row)).isEqualTo(parents.get(row));
        assertThat(blocks.children(row)).containsExactlyInAnyOrderElementsOf(children.get(row));
      });
    }
  }

  /**
   * Few names, so that most are met again. Names of one kind differ only in their third word, which the hash leaves
   * out: they share part, slot and tag, and only the whole name tells them apart.
   */
  private static Name name(SplittableRandom random) {
    return new Name(random.nextInt(3), random.nextBoolean()
        ? new Digest(1, 2, random.nextInt(60), 3)
        : new Digest(random.nextInt(6), random.nextInt(6), 0, random.nextInt(2)));
  }

  @Property(tries = 20)
  void removingInAnyOrderKeepsTheOthersFindable(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    try (Blocks blocks = new Blocks(seed)) {
      List<Name> names = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        // Runs of equal hashes between others of the same part push one another out of their slots.
        Name name = new Name(0, new Digest(i % 7, 0, i, 0));
        names.add(name);
        blocks.add(name, BlockTable.NONE, 0);
      }
      while (!names.isEmpty()) {
        blocks.remove(blocks.find(names.remove(random.nextInt(names.size()))));
        for (Name name : names) {
          assertThat(blocks.table.key(blocks.find(name))).isEqualTo(name.key);
        }
      }
      assertThat(blocks.table.rows()).isZero();
    }
  }

  @Example
  void worksWithNamesThatAllMeetInOneSlot() {
    int count = 3_000;
    try (Blocks blocks = new Blocks(1)) {
      Map<Name, Integer> rows = new HashMap<>();
      for (int i = 0; i < count; i++) {
        Name name = new Name(0, new Digest(0, 0, i, -i));
        rows.put(name, blocks.add(name, BlockTable.NONE, 0));
      }
      rows.forEach((name, row) -> assertThat(blocks.find(name)).isEqualTo(row));
      assertThat(blocks.find(new Name(0, new Digest(0, 0, count, -count)))).isEqualTo(BlockTable.NONE);
      assertThat(blocks.find(new Name(1, new Digest(0, 0, 1, -1)))).isEqualTo(BlockTable.NONE);
      rows.values().forEach(blocks::remove);
      assertThat(blocks.table.rows()).isZero();
    }
  }

  @Example
  void growsOverManyChunksOfRows() {
    int count = 20_000;
    SplittableRandom random = new SplittableRandom(7);
    try (Blocks blocks = new Blocks(7)) {
      List<Name> names = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        Name name = new Name(i % 5, new Digest(random.nextLong(), random.nextLong(), 0, 0));
        names.add(name);
        assertThat(blocks.add(name, BlockTable.NONE, i)).isEqualTo(i);
      }
      for (int i = 0; i < count; i++) {
        assertThat(blocks.find(names.get(i))).isEqualTo(i);
        assertThat(blocks.table.depth(i)).isEqualTo(i);
      }
    }
  }

  @Example
  void aNameIsFoundInItsScopeOnly() {
    try (Blocks blocks = new Blocks(3)) {
      Digest key = new Digest(1, 2, 3, 4);
      int row = blocks.add(new Name(5, key), BlockTable.NONE, 0);
      assertThat(blocks.find(new Name(5, key))).isEqualTo(row);
      assertThat(blocks.find(new Name(6, key))).isEqualTo(BlockTable.NONE);
      assertThat(blocks.table.is(row, 5, 1, 2, 3, 4)).isTrue();
      assertThat(blocks.table.is(row, 6, 1, 2, 3, 4)).as("another scope").isFalse();
      for (int word = 0; word < 4; word++) {
        long[] words = {1, 2, 3, 4};
        words[word]++;
        assertThat(blocks.table.is(row, 5, words[0], words[1], words[2], words[3])).as("word %d differs", word).isFalse();
      }
    }
  }

  @Example
  void removingARowThatIsNotThereIsAFault() {
    try (Blocks blocks = new Blocks(3)) {
      int row = blocks.add(new Name(0, new Digest(1, 2, 3, 4)), BlockTable.NONE, 0);
      blocks.directory.remove(row);
      assertThatThrownBy(() -> blocks.directory.remove(row)).isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("row " + row);
    }
  }
}
