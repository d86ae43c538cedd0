package io.orbitkv.backend.iouring.ring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FixedBuffersTest {

  private static final long PIECE = FixedBuffers.MAX_BYTES;
  private static final long PAGE = 4096;

  @TempDir Path folder;

  private final Arena arena = Arena.ofConfined();

  /** Address space of 2.5 pieces that nothing touches. */
  private MemorySegment space;

  @BeforeEach
  void map() throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(folder.resolve("holes").toFile(), "rw")) {
      file.setLength(2 * PIECE + PIECE / 2);
      space = file.getChannel().map(MapMode.READ_ONLY, 0, file.length(), arena);
    }
  }

  @AfterEach
  void unmap() {
    arena.close();
  }

  @Test
  void region_largerThanTheKernelTakes_isCut() {
    FixedBuffers buffers = FixedBuffers.of(List.of(space));
    assertThat(buffers.count()).isEqualTo(3);
    assertThat(buffers.bytes()).isEqualTo(space.byteSize());
    assertThat(buffers.indexOf(space.asSlice(0, PIECE))).isEqualTo(0);
    assertThat(buffers.indexOf(space.asSlice(PIECE - PAGE, PAGE))).isEqualTo(0);
    assertThat(buffers.indexOf(space.asSlice(PIECE, PAGE))).isEqualTo(1);
    assertThat(buffers.indexOf(space.asSlice(space.byteSize() - PAGE, PAGE))).isEqualTo(2);
  }

  @Test
  void memory_acrossACut_isInNoPiece() {
    FixedBuffers buffers = FixedBuffers.of(List.of(space));
    assertThat(buffers.indexOf(space.asSlice(PIECE - PAGE, 2 * PAGE))).isEqualTo(-1);
  }

  @Test
  void memory_besideTheRegions_isInNoPiece() {
    MemorySegment low = space.asSlice(2 * PAGE, PAGE);
    MemorySegment high = space.asSlice(6 * PAGE, 2 * PAGE);
    FixedBuffers buffers = FixedBuffers.of(List.of(high, low));
    assertThat(buffers.indexOf(space.asSlice(0, PAGE))).isEqualTo(-1);
    assertThat(buffers.indexOf(low)).isEqualTo(0);
    assertThat(buffers.indexOf(space.asSlice(2 * PAGE, 2 * PAGE))).isEqualTo(-1);
    assertThat(buffers.indexOf(space.asSlice(3 * PAGE, PAGE))).isEqualTo(-1);
    assertThat(buffers.indexOf(high.asSlice(PAGE, PAGE))).isEqualTo(1);
    assertThat(buffers.indexOf(space.asSlice(8 * PAGE, PAGE))).isEqualTo(-1);
    assertThat(FixedBuffers.NONE.indexOf(low)).isEqualTo(-1);
  }

  @Test
  void table_listsThePiecesByTheirIndex() {
    FixedBuffers buffers = FixedBuffers.of(List.of(space.asSlice(8 * PAGE, PAGE), space.asSlice(0, 2 * PAGE)));
    MemorySegment table = buffers.table(arena);
    assertThat(table.toArray(ValueLayout.JAVA_LONG))
        .containsExactly(space.address(), 2 * PAGE, space.address() + 8 * PAGE, PAGE);
  }
}
