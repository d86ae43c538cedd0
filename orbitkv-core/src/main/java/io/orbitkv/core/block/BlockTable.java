package io.orbitkv.core.block;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.orbitkv.api.Digest;
import io.orbitkv.core.lifecycle.ExtentState;
import io.orbitkv.core.lifecycle.ResidenceState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Rows of 128 bytes, two cache lines a block, in chunks outside the heap: ten million blocks cost 1.28 GB and no garbage
 * collector looks at them. A row's number stays the same for as long as its block has bytes in any tier, has a child, or
 * is held; after that it is used again.
 *
 * <p>Rows form a forest: a row knows its parent, its first child and its siblings.
 */
public final class BlockTable implements AutoCloseable {

  /** No row. */
  public static final int NONE = -1;

  /** No place in memory or on the SSD. */
  public static final long NOWHERE = -1;

  private static final int CHUNK_SHIFT = 12;
  private static final int ROW_SHIFT = 7;
  private static final int CHUNK_ROWS = 1 << CHUNK_SHIFT;
  private static final int CHUNK_MASK = CHUNK_ROWS - 1;

  // First cache line: everything that a lookup reads.
  private static final int KEY = 0;
  private static final int SCOPE = 32;
  private static final int STATES = 36; // residence in byte 0, extent in byte 1, flags in bytes 2 and 3
  private static final int PARENT = 40;
  private static final int DEPTH = 44;
  private static final int HOLDS = 48;
  private static final int MEMORY_CHILDREN = 52;
  private static final int MEMORY_AT = 56;
  // Second cache line.
  private static final int STORE_AT = 64;
  private static final int STORE_CHILDREN = 72;
  private static final int FIRST_CHILD = 76;
  private static final int NEXT_SIBLING = 80;
  private static final int PREVIOUS_SIBLING = 84;
  private static final int NEXT_IN_LIST = 88;
  private static final int PREVIOUS_IN_LIST = 92;
  private static final int CRC = 96;

  /** The row can leave memory and the eviction order knows it. */
  public static final int FLAG_RELEASED = 1 << 16;

  /** A query was served to this row since its extent was written. */
  public static final int FLAG_USED = 1 << 17;

  /** Its extent is being carried over to another segment. */
  public static final int FLAG_CARRIED = 1 << 18;

  private static final int RESIDENT = ResidenceState.RESIDENT.ordinal();
  private static final int COMMITTED = ExtentState.COMMITTED.ordinal();

  /** Its ancestors' extents were asked for once while it was resident, which is as often as they are. */
  public static final int FLAG_ANCESTORS_ASKED = 1 << 19;

  /** A query could find it at some time. */
  public static final int FLAG_FOUND = 1 << 20;

  private final Arena arena = Arena.ofShared();
  private MemorySegment[] chunks = new MemorySegment[0];
  private int[][] shardCrcs = new int[0][];
  private int fresh;
  private int freeHead = NONE;
  private int rows;

  /** Returns the number of rows in use. */
  public int rows() {
    return rows;
  }

  /** Returns one past the highest row number ever used. */
  public int limit() {
    return fresh;
  }

  /**
   * Takes a row for a block without bytes and links it under its parent.
   *
   * @param scope the scope's number
   * @param parent its parent's row, or {@link #NONE}
   * @param depth 0 for a first block
   */
  public int create(int scope, long w0, long w1, long w2, long w3, int parent, int depth) {
    int row = freeHead;
    if (row == NONE) {
      row = fresh++;
      if (row >>> CHUNK_SHIFT == chunks.length) {
        chunks = Arrays.copyOf(chunks, chunks.length + 1);
        chunks[chunks.length - 1] = arena.allocate((long) CHUNK_ROWS << ROW_SHIFT, 128);
      }
    } else {
      freeHead = get(row, NEXT_IN_LIST);
    }
    rows++;
    MemorySegment chunk = chunk(row);
    long at = at(row);
    chunk.set(JAVA_LONG, at + KEY, w0);
    chunk.set(JAVA_LONG, at + KEY + 8, w1);
    chunk.set(JAVA_LONG, at + KEY + 16, w2);
    chunk.set(JAVA_LONG, at + KEY + 24, w3);
    chunk.set(JAVA_INT, at + SCOPE, scope);
    chunk.set(JAVA_INT, at + STATES, 0);
    chunk.set(JAVA_INT, at + DEPTH, depth);
    chunk.set(JAVA_INT, at + HOLDS, 0);
    chunk.set(JAVA_INT, at + MEMORY_CHILDREN, 0);
    chunk.set(JAVA_LONG, at + MEMORY_AT, NOWHERE);
    chunk.set(JAVA_LONG, at + STORE_AT, NOWHERE);
    chunk.set(JAVA_INT, at + STORE_CHILDREN, 0);
    chunk.set(JAVA_INT, at + FIRST_CHILD, NONE);
    chunk.set(JAVA_INT, at + NEXT_IN_LIST, NONE);
    chunk.set(JAVA_INT, at + PREVIOUS_IN_LIST, NONE);
    chunk.set(JAVA_INT, at + CRC, 0);
    link(row, parent);
    return row;
  }

  /** Links a row under a parent; done by {@link #create}, and by recovery once the parent is known. */
  public void link(int row, int parent) {
    set(row, PARENT, parent);
    set(row, PREVIOUS_SIBLING, NONE);
    int next = NONE;
    if (parent != NONE) {
      next = get(parent, FIRST_CHILD);
      set(parent, FIRST_CHILD, row);
      if (next != NONE) {
        set(next, PREVIOUS_SIBLING, row);
      }
    }
    set(row, NEXT_SIBLING, next);
  }

  /** Unlinks a row that has no children and gives it back. */
  public void free(int row) {
    int parent = parent(row);
    int previous = get(row, PREVIOUS_SIBLING);
    int next = get(row, NEXT_SIBLING);
    if (previous != NONE) {
      set(previous, NEXT_SIBLING, next);
    } else if (parent != NONE) {
      set(parent, FIRST_CHILD, next);
    }
    if (next != NONE) {
      set(next, PREVIOUS_SIBLING, previous);
    }
    shardCrcs(row, null);
    set(row, SCOPE, NONE);
    set(row, STATES, 0);
    set(row, NEXT_IN_LIST, freeHead);
    freeHead = row;
    rows--;
  }

  /** Returns whether the row number is in use. */
  public boolean exists(int row) {
    return row >= 0 && row < fresh && scope(row) != NONE;
  }

  /** Returns whether the row's name is exactly this. */
  public boolean is(int row, int scope, long w0, long w1, long w2, long w3) {
    MemorySegment chunk = chunk(row);
    long at = at(row);
    return chunk.get(JAVA_LONG, at + KEY) == w0
        && chunk.get(JAVA_LONG, at + KEY + 8) == w1
        && chunk.get(JAVA_LONG, at + KEY + 16) == w2
        && chunk.get(JAVA_LONG, at + KEY + 24) == w3
        && chunk.get(JAVA_INT, at + SCOPE) == scope;
  }

  /** Returns a word of the row's hash, 0 to 3. */
  public long word(int row, int word) {
    return chunk(row).get(JAVA_LONG, at(row) + KEY + 8L * word);
  }

  /** Returns the row's hash as an object, for a header or a message. */
  public Digest key(int row) {
    return new Digest(word(row, 0), word(row, 1), word(row, 2), word(row, 3));
  }

  /** Returns the scope's number. */
  public int scope(int row) {
    return get(row, SCOPE);
  }

  /** Returns the state of the row's bytes in memory. */
  public ResidenceState residence(int row) {
    return ResidenceState.of(get(row, STATES) & 0xff);
  }

  /** Returns whether the row's bytes are in memory for everybody to see; the fast form of {@link #residence}. */
  public boolean isResident(int row) {
    return (get(row, STATES) & 0xff) == RESIDENT;
  }

  /** Returns whether the row's bytes are committed on the SSD; the fast form of {@link #extent}. */
  public boolean isCommitted(int row) {
    return (get(row, STATES) >> 8 & 0xff) == COMMITTED;
  }

  /** Moves the row's bytes in memory on. */
  public void on(int row, ResidenceState.Event event) {
    int states = get(row, STATES);
    set(row, STATES, states & ~0xff | ResidenceState.of(states & 0xff).on(event).ordinal());
  }

  /** Returns the state of the row's extent on the SSD. */
  public ExtentState extent(int row) {
    return ExtentState.of(get(row, STATES) >> 8 & 0xff);
  }

  /** Moves the row's extent on. */
  public void on(int row, ExtentState.Event event) {
    int states = get(row, STATES);
    set(row, STATES, states & ~0xff00 | ExtentState.of(states >> 8 & 0xff).on(event).ordinal() << 8);
  }

  /** Returns whether a flag is set. */
  public boolean flag(int row, int flag) {
    return (get(row, STATES) & flag) != 0;
  }

  /** Sets or clears a flag. */
  public void flag(int row, int flag, boolean value) {
    int states = get(row, STATES);
    set(row, STATES, value ? states | flag : states & ~flag);
  }

  /** Returns the parent's row. */
  public int parent(int row) {
    return get(row, PARENT);
  }

  /** Returns how many blocks come before this one in its prefix. */
  public int depth(int row) {
    return get(row, DEPTH);
  }

  /** Returns the first child's row. */
  public int firstChild(int row) {
    return get(row, FIRST_CHILD);
  }

  /** Returns the next child of the same parent. */
  public int nextSibling(int row) {
    return get(row, NEXT_SIBLING);
  }

  /** Returns how many holders keep the row's bytes in memory. */
  public int holds(int row) {
    return get(row, HOLDS);
  }

  /** Adds to the holders. */
  public void addHolds(int row, int change) {
    set(row, HOLDS, requireCount(row, "holds", get(row, HOLDS) + change));
  }

  /** Returns how many children have an extent in memory, in whatever state. */
  public int memoryChildren(int row) {
    return get(row, MEMORY_CHILDREN);
  }

  /** Adds to the children in memory. */
  public void addMemoryChildren(int row, int change) {
    set(row, MEMORY_CHILDREN, requireCount(row, "memory children", get(row, MEMORY_CHILDREN) + change));
  }

  /** Returns how many children have an extent on the SSD, being written or committed. */
  public int storeChildren(int row) {
    return get(row, STORE_CHILDREN);
  }

  /** Adds to the children on the SSD. */
  public void addStoreChildren(int row, int change) {
    set(row, STORE_CHILDREN, requireCount(row, "store children", get(row, STORE_CHILDREN) + change));
  }

  /** Returns the offset of the row's extent in memory. */
  public long memoryAt(int row) {
    return chunk(row).get(JAVA_LONG, at(row) + MEMORY_AT);
  }

  /** Sets the offset of the row's extent in memory. */
  public void memoryAt(int row, long offset) {
    chunk(row).set(JAVA_LONG, at(row) + MEMORY_AT, offset);
  }

  /** Returns the place of the row's extent on the SSD: its segment in the upper half, its offset in the lower. */
  public long storeAt(int row) {
    return chunk(row).get(JAVA_LONG, at(row) + STORE_AT);
  }

  /** Sets the place of the row's extent on the SSD. */
  public void storeAt(int row, long place) {
    chunk(row).set(JAVA_LONG, at(row) + STORE_AT, place);
  }

  /**
   * Returns the checksums of the row's shards, in a new array, or null if they are not known here.
   *
   * @param shards how many shards the row's blocks have
   */
  public int[] shardCrcs(int row, int shards) {
    if (shards == 1) {
      return new int[] {get(row, CRC)};
    }
    return row < shardCrcs.length && shardCrcs[row] != null ? shardCrcs[row].clone() : null;
  }

  /** Keeps the checksums of the row's shards until its extent is written; one shard's lies in the row itself. */
  public void shardCrcs(int row, int[] crcs) {
    if (crcs != null && crcs.length == 1) {
      set(row, CRC, crcs[0]);
      return;
    }
    if (row >= shardCrcs.length) {
      if (crcs == null) {
        return;
      }
      shardCrcs = Arrays.copyOf(shardCrcs, Math.max(row + 1, shardCrcs.length * 2));
    }
    shardCrcs[row] = crcs;
  }

  int nextInList(int row) {
    return get(row, NEXT_IN_LIST);
  }

  void nextInList(int row, int next) {
    set(row, NEXT_IN_LIST, next);
  }

  int previousInList(int row) {
    return get(row, PREVIOUS_IN_LIST);
  }

  void previousInList(int row, int previous) {
    set(row, PREVIOUS_IN_LIST, previous);
  }

  @Override
  public void close() {
    arena.close();
  }

  private static int requireCount(int row, String what, int count) {
    if (count < 0) {
      throw new IllegalStateException("row " + row + " would have " + count + " " + what);
    }
    return count;
  }

  private MemorySegment chunk(int row) {
    return chunks[row >>> CHUNK_SHIFT];
  }

  private static long at(int row) {
    return (long) (row & CHUNK_MASK) << ROW_SHIFT;
  }

  private int get(int row, int field) {
    return chunk(row).get(JAVA_INT, at(row) + field);
  }

  private void set(int row, int field, int value) {
    chunk(row).set(JAVA_INT, at(row) + field, value);
  }
}
