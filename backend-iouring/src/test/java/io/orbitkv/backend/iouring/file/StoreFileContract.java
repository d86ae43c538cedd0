package io.orbitkv.backend.iouring.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * What every {@link StoreFile} must do, whatever drives it. A test that hangs does so in the kernel, where no interrupt
 * reaches it, so each runs in a thread that can be left behind.
 */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
public abstract class StoreFileContract {

  private static final int PAGE = TransferRules.ALIGNMENT;
  private static final int DEPTH = 16;
  private static final int FILE_PAGES = 512;

  @TempDir Path folder;

  private final Arena arena = Arena.ofShared();
  private Path path;

  /** Returns the way of opening that is tested, or aborts the test where the machine has not got it. */
  protected abstract StoreFiles files();

  /** Returns the same way for files that are not on a disk, as character devices. */
  protected abstract StoreFiles filesOfDevices();

  @BeforeEach
  void createFile() throws IOException {
    path = Files.write(folder.resolve("data"), new byte[FILE_PAGES * PAGE]);
  }

  @AfterEach
  void freeMemory() {
    arena.close();
  }

  private StoreFile open() throws IOException {
    return files().open(path, DEPTH);
  }

  private MemorySegment pages(int count) {
    return arena.allocate((long) count * PAGE, PAGE);
  }

  /** Drives a file until it has handed over as many completions; fails on a token that comes twice. */
  private static Map<Long, Integer> await(StoreFile file, int count) {
    Map<Long, Integer> results = new HashMap<>();
    while (results.size() < count) {
      file.poll((token, result) -> assertThat(results.put(token, result)).as("token %d again", token).isNull(), true);
    }
    return results;
  }

  private static int awaitOne(StoreFile file, long token) {
    Map<Long, Integer> results = await(file, 1);
    assertThat(results).containsOnlyKeys(token);
    return results.get(token);
  }

  private static <T> T elsewhere(Callable<T> work) throws InterruptedException, ExecutionException {
    FutureTask<T> task = new FutureTask<>(work);
    Thread.ofPlatform().start(task);
    return task.get();
  }

  @Test
  void open_missingFile_namesIt() {
    Path missing = folder.resolve("missing");
    assertThatThrownBy(() -> files().open(missing, DEPTH))
        .isInstanceOf(NoSuchFileException.class)
        .hasMessageContaining(missing.toString());
  }

  @Test
  void open_depthBelowOne_isRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> files().open(path, 0)).withMessageContaining("depth is 0");
  }

  @Test
  void extend_addsZerosBehindWhatIsThere() throws IOException {
    byte[] content = new byte[FILE_PAGES * PAGE];
    Arrays.fill(content, (byte) 42);
    Files.write(path, content);
    files().extend(path, 2L * content.length);
    byte[] extended = Files.readAllBytes(path);
    assertThat(Arrays.copyOf(extended, content.length)).isEqualTo(content);
    assertThat(Arrays.copyOfRange(extended, content.length, extended.length)).isEqualTo(new byte[content.length]);
  }

  @Test
  void extend_toLessThanItHas_changesNothing() throws IOException {
    files().extend(path, PAGE);
    assertThat(path).hasSize((long) FILE_PAGES * PAGE);
  }

  @Test
  void extend_missingFile_namesIt() {
    Path missing = folder.resolve("missing");
    assertThatThrownBy(() -> files().extend(missing, PAGE))
        .isInstanceOf(NoSuchFileException.class)
        .hasMessageContaining(missing.toString());
  }

  @Test
  void readsBackWhatWasWritten_anywhereAndManyAtOnce() throws IOException {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    long[] model = new long[FILE_PAGES];
    // Half of the memory is registered, where the machine lets it; nothing may depend on that.
    MemorySegment registered = pages(DEPTH / 2 * 4);
    MemorySegment ordinary = pages(DEPTH / 2 * 4);
    try (StoreFile file = open()) {
      file.register(List.of(registered));
      for (int round = 0; round < 40; round++) {
        boolean write = random.nextBoolean();
        Map<Long, Integer> expected = new HashMap<>();
        List<Runnable> checks = new ArrayList<>();
        Set<Integer> taken = new HashSet<>();
        for (int i = 0; i < DEPTH; i++) {
          int count = 1 + random.nextInt(4);
          int first = random.nextInt(FILE_PAGES - count);
          if (overlaps(taken, first, count)) {
            continue;
          }
          MemorySegment half = i % 2 == 0 ? registered : ordinary;
          MemorySegment memory = half.asSlice((long) i / 2 * 4 * PAGE, (long) count * PAGE);
          long token = random.nextLong();
          expected.put(token, count * PAGE);
          for (int page = 0; page < count; page++) {
            int at = first + page;
            MemorySegment bytes = memory.asSlice((long) page * PAGE, PAGE);
            if (write) {
              model[at] = random.nextLong();
              fill(bytes, model[at]);
            } else {
              checks.add(() -> assertThat(holds(bytes, model[at])).as("page %d, seed %d", at, seed).isTrue());
            }
          }
          if (write) {
            file.write(token, memory, (long) first * PAGE);
          } else {
            fill(memory, -1);
            file.read(token, memory, (long) first * PAGE);
          }
        }
        assertThat(await(file, expected.size())).isEqualTo(expected);
        checks.forEach(Runnable::run);
      }
    }
  }

  private static boolean overlaps(Set<Integer> taken, int first, int count) {
    boolean overlaps = false;
    for (int page = first; page < first + count; page++) {
      overlaps |= !taken.add(page);
    }
    return overlaps;
  }

  private static void fill(MemorySegment memory, long value) {
    for (long at = 0; at < memory.byteSize(); at += Long.BYTES) {
      memory.set(ValueLayout.JAVA_LONG, at, value);
    }
  }

  private static boolean holds(MemorySegment memory, long value) {
    for (long at = 0; at < memory.byteSize(); at += Long.BYTES) {
      if (memory.get(ValueLayout.JAVA_LONG, at) != value) {
        return false;
      }
    }
    return true;
  }

  @Test
  void completions_whateverTheirOrder_carryTheirOwnResult() throws IOException {
    try (StoreFile file = open()) {
      Map<Long, Integer> expected = new HashMap<>();
      for (int i = 0; i < DEPTH; i++) {
        int pages = i % 2 == 0 ? 256 : 1;
        file.read(-i, pages(pages), 0);
        expected.put((long) -i, pages * PAGE);
      }
      assertThat(await(file, DEPTH)).isEqualTo(expected);
    }
  }

  @Test
  void request_beyondDepth_isRefusedUntilOneCompleted() throws IOException {
    MemorySegment memory = pages(1);
    try (StoreFile file = open()) {
      assertThat(file.depth()).isEqualTo(DEPTH);
      for (int i = 0; i < DEPTH; i++) {
        file.read(i, memory, 0);
      }
      assertThatIllegalStateException().isThrownBy(() -> file.sync(DEPTH)).withMessageContaining("depth=" + DEPTH);
      assertThat(await(file, DEPTH)).hasSize(DEPTH);
      file.sync(DEPTH);
      assertThat(awaitOne(file, DEPTH)).isZero();
    }
  }

  @Test
  void request_againstTheRules_isRefusedWithItsValue() throws IOException {
    MemorySegment memory = pages(2);
    try (StoreFile file = open()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.read(1, memory, 100))
          .withMessageContaining("position 100");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.read(1, memory, -PAGE))
          .withMessageContaining("position -4096");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.write(1, memory.asSlice(0, 100), 0))
          .withMessageContaining("100 bytes");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.write(1, memory.asSlice(0, 0), 0))
          .withMessageContaining("0 bytes");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.write(1, memory.asSlice(512, PAGE), 0))
          .withMessageContaining("address 0x");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.write(1, MemorySegment.ofArray(new long[PAGE / 8]), 0))
          .withMessageContaining("heap");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.read(1, memory.asReadOnly(), 0))
          .withMessageContaining("read-only");
      assertThat(file.poll((token, result) -> {}, false)).isZero();
    }
  }

  @Test
  void read_atTheEndOfTheFile_isShortOrEmpty() throws IOException {
    MemorySegment memory = pages(2);
    long end = (long) FILE_PAGES * PAGE;
    try (StoreFile file = open()) {
      file.read(1, memory, end - PAGE);
      assertThat(awaitOne(file, 1)).isEqualTo(PAGE);
      file.read(2, memory, end);
      assertThat(awaitOne(file, 2)).isZero();
    }
  }

  @Test
  void transfer_thatTheSystemRefuses_completesWithAnError() throws IOException {
    MemorySegment memory = pages(2);
    try (StoreFile file = open()) {
      file.write(1, memory, Long.MAX_VALUE - PAGE + 1);
      assertThat(awaitOne(file, 1)).isEqualTo(-Errno.EINVAL.number());
      file.write(2, memory, 0);
      assertThat(awaitOne(file, 2)).isEqualTo(2 * PAGE);
    }
  }

  @Test
  void write_toAFullDevice_completesWithNoSpace() throws IOException {
    try (StoreFile full = filesOfDevices().open(Path.of("/dev/full"), 1)) {
      full.write(1, pages(1), 0);
      assertThat(awaitOne(full, 1)).isEqualTo(-Errno.ENOSPC.number());
    }
  }

  @Test
  void sync_afterWrites_completesWithZero() throws IOException {
    try (StoreFile file = open()) {
      file.write(1, pages(4), 0);
      assertThat(awaitOne(file, 1)).isEqualTo(4 * PAGE);
      file.sync(Long.MIN_VALUE);
      assertThat(awaitOne(file, Long.MIN_VALUE)).isZero();
    }
  }

  @Test
  void poll_withNothingInFlight_returnsAtOnceUnlessItWaits() throws IOException {
    try (StoreFile file = open()) {
      assertThat(file.poll((token, result) -> {}, false)).isZero();
    }
  }

  @Test
  void wake_beforeTheWait_endsTheNextOne() throws IOException {
    try (StoreFile file = open()) {
      file.wake();
      file.wake();
      assertThat(file.poll((token, result) -> {}, true)).isZero();
    }
  }

  @Test
  void wait_afterAWake_lastsUntilTheNext() throws Exception {
    int wakes = 4;
    AtomicInteger woken = new AtomicInteger();
    try (StoreFile file = open()) {
      Thread waker =
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int wake = 0; wake < wakes; wake++) {
                      LockSupport.parkNanos(10_000_000); // time for a driver that does not wait to show it
                      woken.incrementAndGet();
                      file.wake();
                    }
                  });
      int returns = 0;
      while (woken.get() < wakes) {
        file.poll((token, result) -> {}, true);
        returns++;
      }
      waker.join();
      assertThat(returns).as("ends of the wait; a wake may have an echo").isLessThanOrEqualTo(2 * wakes);
    }
  }

  @Test
  void wake_isNeverLost() throws Exception {
    int turns = 3000;
    AtomicInteger published = new AtomicInteger();
    AtomicInteger seen = new AtomicInteger();
    try (StoreFile file = open()) {
      FutureTask<Void> waker =
          new FutureTask<>(
              () -> {
                for (int turn = 1; turn <= turns; turn++) {
                  published.set(turn);
                  file.wake();
                  while (seen.get() != turn) {
                    Thread.yield();
                  }
                }
                return null;
              });
      Thread.ofPlatform().daemon().start(waker);
      while (seen.get() != turns) {
        file.poll((token, result) -> {}, true);
        seen.set(published.get());
      }
      waker.get();
    }
  }

  @Test
  void wakes_fromManyThreadsDuringTransfers_disturbNothing() throws Exception {
    int transfers = 2000;
    AtomicLong wakes = new AtomicLong();
    AtomicInteger running = new AtomicInteger(1);
    MemorySegment memory = pages(DEPTH);
    try (StoreFile file = open()) {
      List<Thread> wakers = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        wakers.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      while (running.get() == 1) {
                        file.wake();
                        wakes.incrementAndGet();
                        Thread.yield();
                      }
                    }));
      }
      Set<Long> completed = new HashSet<>();
      for (long token = 0; completed.size() < transfers; ) {
        for (; token < transfers && token - completed.size() < DEPTH; token++) {
          int page = (int) (token % DEPTH);
          file.read(token, memory.asSlice((long) page * PAGE, PAGE), (long) page * PAGE);
        }
        file.poll(
            (done, result) -> {
              assertThat(result).isEqualTo(PAGE);
              assertThat(completed.add(done)).as("token %d for the first time", done).isTrue();
            },
            true);
      }
      running.set(0);
      for (Thread waker : wakers) {
        waker.join();
      }
      assertThat(wakes.get()).isPositive();
    }
  }

  @Test
  void poll_fromASecondThread_isRefused() throws Exception {
    try (StoreFile file = open()) {
      file.poll((token, result) -> {}, false);
      elsewhere(
          () ->
              assertThatIllegalStateException()
                  .isThrownBy(() -> file.poll((token, result) -> {}, false))
                  .withMessageContaining("driven by thread"));
    }
  }

  @Test
  void open_andRegistration_mayComeFromAnotherThreadThanTheDriver() throws Exception {
    MemorySegment memory = pages(1);
    try (StoreFile file = open()) {
      file.register(List.of(memory));
      int result =
          elsewhere(
              () -> {
                file.read(7, memory, 0);
                return awaitOne(file, 7);
              });
      assertThat(result).isEqualTo(PAGE);
    }
  }

  @Test
  void receiver_thatThrows_losesNoCompletion() throws IOException {
    MemorySegment memory = pages(1);
    Set<Long> completed = new HashSet<>();
    try (StoreFile file = open()) {
      for (long token = 0; token < DEPTH; token++) {
        file.read(token, memory, 0);
      }
      int refusals = 0;
      while (completed.size() < DEPTH) {
        try {
          file.poll(
              (token, result) -> {
                completed.add(token);
                throw new UnsupportedOperationException();
              },
              true);
        } catch (UnsupportedOperationException expected) {
          refusals++;
        }
      }
      assertThat(refusals).isEqualTo(DEPTH);
    }
  }

  @Test
  void receiver_mayQueueTheNextRequest() throws IOException {
    MemorySegment memory = pages(1);
    AtomicLong last = new AtomicLong(1);
    try (StoreFile file = files().open(path, 1)) {
      file.read(1, memory, 0);
      while (last.get() < 5) {
        file.poll((token, result) -> file.read(last.incrementAndGet(), memory, 0), true);
      }
    }
  }

  @Test
  void close_withTransfersInFlight_waitsForThem() throws IOException {
    int pages = 128; // enough that some are still in flight
    MemorySegment memory = pages(DEPTH * pages).fill((byte) 42);
    StoreFile file = open();
    for (int i = 0; i < DEPTH; i++) {
      long at = (long) i * pages * PAGE;
      file.write(i, memory.asSlice(at, (long) pages * PAGE), at);
    }
    file.poll((token, result) -> {}, false);
    file.close();
    memory.fill((byte) 0);
    byte[] expected = new byte[DEPTH * pages * PAGE];
    Arrays.fill(expected, (byte) 42);
    assertThat(Files.readAllBytes(path)).isEqualTo(expected);
  }

  @Test
  void close_dropsWhatWasNotSubmitted() throws IOException {
    MemorySegment memory = pages(1);
    fill(memory, 42);
    try (StoreFile file = open()) {
      file.write(1, memory, 0);
    }
    assertThat(Files.readAllBytes(path)).containsOnly(0);
  }

  @Test
  void closed_refusesToPollAndIgnoresTheRest() throws IOException {
    StoreFile file = open();
    file.close();
    file.close();
    file.wake();
    assertThatIllegalStateException()
        .isThrownBy(() -> file.poll((token, result) -> {}, false))
        .withMessageContaining("closed");
  }

  @Test
  void closed_leavesNoDescriptorBehind() throws IOException {
    MemorySegment memory = pages(1);
    List<String> before = descriptors();
    for (int i = 0; i < 20; i++) {
      try (StoreFile file = open()) {
        file.register(List.of(memory));
        file.read(i, memory, 0);
        awaitOne(file, i);
      }
    }
    assertThat(descriptors()).isEqualTo(before);
  }

  /** Lists the open files of the kinds that a store file may hold. */
  private List<String> descriptors() throws IOException {
    List<String> found = new ArrayList<>();
    try (var links = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path link : links) {
        if (Files.isSymbolicLink(link)) {
          String target = Files.readSymbolicLink(link).toString();
          if (target.startsWith("anon_inode:") || target.contains(folder.toString())) {
            found.add(target);
          }
        }
      }
    }
    found.sort(null);
    return found;
  }
}
