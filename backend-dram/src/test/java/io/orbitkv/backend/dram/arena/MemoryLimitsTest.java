package io.orbitkv.backend.dram.arena;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryLimitsTest {

  @TempDir
  private Path root;

  @Test
  void freeMemoryOfTheMachine_bounds() throws IOException {
    write("proc/meminfo", "MemTotal:  9999 kB\nMemAvailable:    1024 kB\n");
    requireRefused((1 << 20) + 1, "MemAvailable) leaves 1MiB (1048576 bytes)");
    assertThatCode(() -> new MemoryLimits().addSystem(root).require(1 << 20)).doesNotThrowAnyException();
  }

  @Test
  void cgroupOfVersion2_boundsAtEveryLevelAndItsCacheCountsAsFree() throws IOException {
    write("proc/self/cgroup", "0::/pods/one\n");
    write("sys/fs/cgroup/pods/one/memory.max", "max\n");
    write("sys/fs/cgroup/pods/memory.max", "1048576\n");
    write("sys/fs/cgroup/pods/memory.current", "800000\n");
    write("sys/fs/cgroup/pods/memory.stat", "anon 1\ninactive_file 300000\n");
    assertThatCode(() -> new MemoryLimits().addSystem(root).require(548_576)).doesNotThrowAnyException();
    requireRefused(548_577, "cgroup/pods of 1MiB leaves");
  }

  @Test
  void cgroupOfVersion1_bounds() throws IOException {
    write("proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "4194304\n");
    write("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "4194304\n");
    write("sys/fs/cgroup/memory/docker/abc/memory.stat", "total_inactive_file 4096\n");
    requireRefused(4097, "abc of 4MiB leaves 4KiB (4096 bytes)");
  }

  @Test
  void cgroupThatOnlyTheHostSees_isReplacedByTheVisibleRoot() throws IOException {
    write("proc/self/cgroup", "4:memory:/docker/abc\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192\n");
    requireRefused(8193, "of 8KiB leaves 8KiB");
  }

  @Test
  void freeHugePages_bound() throws IOException {
    write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "10\n");
    write("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "4\n");
    MemoryLimits limits = new MemoryLimits().addHugePages(root, 2 << 20);
    assertThatCode(() -> limits.require(12 << 20)).doesNotThrowAnyException();
    assertThatThrownBy(() -> limits.require(13 << 20))
        .isInstanceOf(UnavailableException.class).hasMessageContaining("vm.nr_hugepages) leaves 12MiB");
  }

  @Test
  void everyNumberIsNamed() throws IOException {
    write("proc/meminfo", "MemAvailable:    2 kB\n");
    assertThatThrownBy(() -> new MemoryLimits().add(-5, "tmpfs at /x").addSystem(root).require(4096))
        .isInstanceOf(UnavailableException.class)
        .hasMessageContaining("tmpfs at /x leaves 0B (-5 bytes)")
        .hasMessageContaining("leaves 2KiB (2048 bytes)");
  }

  @Test
  void systemThatSaysNothing_doesNotBound() {
    assertThatCode(() -> new MemoryLimits().addSystem(root).require(Long.MAX_VALUE)).doesNotThrowAnyException();
  }

  private void requireRefused(long bytes, String message) {
    assertThatThrownBy(() -> new MemoryLimits().addSystem(root).require(bytes))
        .isInstanceOf(UnavailableException.class).hasMessageContaining(message);
  }

  private void write(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }
}
