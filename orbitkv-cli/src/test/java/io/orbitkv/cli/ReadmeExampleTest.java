package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Cache;
import io.orbitkv.core.EmbeddedCache;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.ToIntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** That the lines which the README shows to integrators compile as they stand, and do what it says. */
class ReadmeExampleTest {

  private static final int BLOCKS = 5;
  private static final int BLOCK_BYTES = 8192;

  @TempDir
  private Path folder;

  @Test
  void tenLines_computeOnceAndRestoreAfterwards() throws Exception {
    ToIntFunction<MemorySegment> example = example();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment kv = arena.allocate((long) BLOCKS * BLOCK_BYTES);

      assertThat(example.applyAsInt(kv)).as("blocks restored at first").isZero();
      assertThat(kv.get(ValueLayout.JAVA_BYTE, BLOCK_BYTES)).as("computed").isEqualTo((byte) 1);

      kv.fill((byte) 99);
      assertThat(example.applyAsInt(kv)).as("blocks restored by another cache over the same folder").isEqualTo(BLOCKS);
      for (int block = 0; block < BLOCKS; block++) {
        assertThat(kv.get(ValueLayout.JAVA_BYTE, (block + 1L) * BLOCK_BYTES - 1)).isEqualTo((byte) block);
      }
    }
  }

  /** Compiles the README's lines into a function from an engine's memory to the number of blocks restored. */
  private ToIntFunction<MemorySegment> example() throws Exception {
    String lines = readmeLines();
    assertThat(lines.lines().filter(line -> !line.isBlank())).as("ten lines").hasSizeLessThanOrEqualTo(10);
    // The README's sizes and folder are an operator's; a test has its own.
    lines = replaceOnce(lines, "/var/cache/orbitkv", folder.resolve("ssd").toString());
    lines = replaceOnce(lines, "\"1GiB\"", "\"16MiB\"");
    lines = replaceOnce(lines, "\"20GiB\"", "\"64MiB\"");
    lines = replaceOnce(lines, "compute(tokens, cached, kv);", "compute(tokens, cached, kv); restored = cached;");
    Path source = Files.writeString(folder.resolve("Example.java"), """
        import io.orbitkv.api.*;
        import io.orbitkv.core.EmbeddedCache;
        import java.lang.foreign.MemorySegment;
        import java.nio.file.Path;
        import java.time.Duration;

        public final class Example implements java.util.function.ToIntFunction<MemorySegment> {
          private final Digest modelDigest = Digest.sha256("a model".getBytes());
          private final int blockBytes = %d;
          private final int[] tokens = new int[%d * 16];
          private int restored;

          private void compute(int[] prompt, int from, MemorySegment kv) {
            for (int block = from; block < prompt.length / 16; block++) {
              kv.asSlice((long) block * blockBytes, blockBytes).fill((byte) block);
            }
          }

          @Override
          public int applyAsInt(MemorySegment kv) {
            try {
              run(kv);
              return restored;
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
          }

          private void run(MemorySegment kv) throws InterruptedException {
        %s
          }
        }
        """.formatted(BLOCK_BYTES, BLOCKS, lines));
    compile(source);
    try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()}, getClass().getClassLoader())) {
      @SuppressWarnings("unchecked")
      ToIntFunction<MemorySegment> example = (ToIntFunction<MemorySegment>)
          loader.loadClass("Example").getDeclaredConstructor().newInstance();
      return example;
    }
  }

  private static String readmeLines() throws IOException {
    Matcher block = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL)
        .matcher(Files.readString(Path.of("..", "README.md")));
    assertThat(block.find()).as("the README shows Java").isTrue();
    return block.group(1);
  }

  private static String replaceOnce(String text, String part, String by) {
    assertThat(text).containsOnlyOnce(part);
    return text.replace(part, by);
  }

  private static void compile(Path source) {
    String modules = Stream.of(Cache.class, EmbeddedCache.class)
        .map(type -> type.getModule().getLayer().configuration().findModule(type.getModule().getName()).orElseThrow())
        .map(module -> Path.of(module.reference().location().orElseThrow()).toString())
        .collect(Collectors.joining(File.pathSeparator));
    StringWriter said = new StringWriter();
    PrintWriter writer = new PrintWriter(said);
    int exitCode = ToolProvider.findFirst("javac").orElseThrow().run(writer, writer, "-Xlint:all", "-Werror",
        "--module-path", modules, "--add-modules", "io.orbitkv.core", source.toString());
    assertThat(exitCode).as("javac said: %s", said).isZero();
  }
}
