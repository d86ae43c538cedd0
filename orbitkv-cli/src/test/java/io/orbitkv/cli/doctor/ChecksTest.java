package io.orbitkv.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.cli.doctor.Finding.Verdict;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ChecksTest {

  private static final String SHM = "25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=16384k";
  private static final String DISK = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard";

  @TempDir
  private Path root;

  private FakeMachine machine;

  @BeforeEach
  void plant() {
    machine = new FakeMachine(root);
  }

  @ParameterizedTest
  @CsvSource({"25, OK", "25.0.3+9, OK", "26, OK", "24.0.2, FAIL", "17, FAIL"})
  void java_isNeededFrom25(String version, Verdict verdict) {
    assertThat(only(machine.look(new JavaCheck(Runtime.Version.parse(version)))).verdict()).isEqualTo(verdict);
  }

  @ParameterizedTest
  @CsvSource({"6.1.0-13-amd64, OK", "5.11.0, OK", "5.10.200, WARN", "4.18.0, WARN", "strange, WARN"})
  void kernel_isBestFrom511(String release, Verdict verdict) {
    machine.file("/proc/sys/kernel/osrelease", release);

    assertThat(only(machine.look(new KernelCheck()))).matches(
        finding -> finding.verdict() == verdict && finding.found().equals(release));
  }

  @ParameterizedTest
  @CsvSource({"flags : fpu sse4_2 pclmulqdq avx2, OK, sse4_2 pclmulqdq avx2", "flags : fpu sse4_2, WARN, sse4_2",
      "flags : fpu, WARN, none of", "Features : fp asimd crc32, OK, 'Arm, crc32'", "vendor : x, WARN, unknown"})
  void processor_shouldHaveChecksums(String line, Verdict verdict, String found) {
    machine.file("/proc/cpuinfo", "processor : 0\n" + line);

    assertThat(only(machine.look(new ProcessorCheck())))
        .matches(finding -> finding.verdict() == verdict && finding.found().startsWith(found));
  }

  @Test
  void memory_mustHoldTheBlocks() {
    machine.file("/proc/meminfo", "MemTotal:  9999 kB\nMemAvailable:   2097152 kB");

    assertThat(machine.look(new MemoryCheck(), "2GiB").getFirst())
        .isEqualTo(Finding.ok("memory", "2GiB available", "2GiB for --dram"));
    assertThat(machine.look(new MemoryCheck(), "3GiB").getFirst().verdict()).isEqualTo(Verdict.FAIL);
    assertThat(machine.look(new MemoryCheck()).getFirst().verdict()).isEqualTo(Verdict.OK);
  }

  @Test
  void controlGroup_isAsTightAsTheTightestAboveIt() {
    machine.file("/proc/self/cgroup", "4:memory:/old\n0::/pods/pod/orbitkv")
        .file("/sys/fs/cgroup/cgroup.controllers", "memory")
        .file("/sys/fs/cgroup/pods/pod/orbitkv/memory.max", "max")
        .file("/sys/fs/cgroup/pods/pod/memory.max", "3221225472")
        .file("/sys/fs/cgroup/pods/pod/memory.current", "1073741824")
        .file("/sys/fs/cgroup/pods/memory.max", "9221225472");

    assertThat(machine.look(new MemoryCheck(), "2GiB").getLast())
        .isEqualTo(Finding.ok("cgroup memory", "2GiB left of the limit", "2GiB for --dram"));
    assertThat(machine.look(new MemoryCheck(), "3GiB").getLast())
        .matches(finding -> finding.verdict() == Verdict.FAIL && finding.fix().contains("MemoryMax="));
  }

  @Test
  void controlGroup_ofAContainerIsTheRoot() {
    machine.file("/proc/self/cgroup", "0::/")
        .file("/sys/fs/cgroup/cgroup.controllers", "memory")
        .file("/sys/fs/cgroup/memory.max", "1073741824")
        .file("/sys/fs/cgroup/memory.current", "2073741824");

    assertThat(machine.look(new MemoryCheck(), "1GiB").getLast().found()).isEqualTo("0B left of the limit");
  }

  @Test
  void controlGroup_withoutALimitIsFine() {
    machine.file("/proc/self/cgroup", "0::/a").file("/sys/fs/cgroup/cgroup.controllers", "memory")
        .file("/sys/fs/cgroup/a/memory.max", "max");

    assertThat(machine.look(new MemoryCheck(), "1GiB").getLast())
        .matches(finding -> finding.verdict() == Verdict.OK && finding.found().equals("no limit"));
  }

  @ParameterizedTest
  @CsvSource({"8388608, WARN, 8MiB", "unlimited, OK, no limit", "4294967296, OK, 4GiB"})
  void lockedMemory_shouldCoverTheBlocks(String limit, Verdict verdict, String found) {
    limits(limit, "20000");

    assertThat(machine.look(new LimitsCheck(), "4GiB").getFirst())
        .matches(finding -> finding.verdict() == verdict && finding.found().equals(found));
  }

  @Test
  void lockedMemory_ofAPrivilegedProcessHasNoLimit() {
    limits("65536", "20000");
    machine.file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000");

    assertThat(machine.look(new LimitsCheck(), "4GiB").getFirst().verdict()).isEqualTo(Verdict.OK);
  }

  @ParameterizedTest
  @CsvSource({"256, WARN", "1024, OK", "unlimited, OK"})
  void openFiles_shouldBeEnough(String limit, Verdict verdict) {
    limits("unlimited", limit);

    assertThat(machine.look(new LimitsCheck()).getLast().verdict()).isEqualTo(verdict);
  }

  @Test
  void runtimeFolder_isInMemoryWithRoom() {
    machine.mounts(DISK, SHM).file("/dev/shm/x", "");

    assertThat(only(machine.look(new RuntimeFolderCheck(), "8GiB")).found())
        .isEqualTo("tmpfs at /dev/shm, 8GiB free of 16GiB");
    assertThat(only(machine.look(new RuntimeFolderCheck(), "9GiB")))
        .matches(finding -> finding.verdict() == Verdict.FAIL && finding.fix().contains("remount,size="));
  }

  @Test
  void runtimeFolder_onADiskFails() {
    machine.mounts(DISK).file("/dev/shm/x", "");

    assertThat(only(machine.look(new RuntimeFolderCheck())))
        .matches(finding -> finding.verdict() == Verdict.FAIL && finding.found().startsWith("ext4 at /,"));
  }

  @Test
  void mount_isTheLastAndDeepestOne() {
    machine.mounts(DISK, SHM, "40 27 0:9 / /dev/shm rw - hugetlbfs nodev rw", "41 27 0:8 / /dev/shmoo rw - proc p rw",
        "garbage", "42 27 0:10 / /with\\040space rw - xfs /dev/x rw");

    assertThat(Mount.of(Path.of("/dev/shm/a/b"), machine.machine()).map(Mount::type)).contains("hugetlbfs");
    assertThat(Mount.of(Path.of("/dev/shmo"), machine.machine()).map(Mount::type)).contains("ext4");
    assertThat(Mount.of(Path.of("/with space/x"), machine.machine()).map(Mount::type)).contains("xfs");
  }

  @ParameterizedTest
  @CsvSource({"'rw,huge=advise,size=1k', never, OK, advise", "'rw,huge=never', always, WARN, never",
      "rw, always, WARN, never", "'rw,huge=always', deny, WARN, deny", "rw, force, OK, force"})
  void hugePages_areTheMountsMatter(String options, String system, Verdict verdict, String found) {
    machine.mounts(DISK, "25 24 0:23 / /dev/shm rw - tmpfs tmpfs " + options)
        .file("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
            "always within_size advise never deny force".replace(system, "[" + system + "]"));

    assertThat(only(machine.look(new HugePagesCheck())))
        .matches(finding -> finding.verdict() == verdict && finding.found().endsWith(": " + found));
  }

  @Test
  void hugePages_ofHugetlbfsMustBeReserved() {
    machine.mounts("25 24 0:23 / /dev/shm rw - hugetlbfs none rw")
        .file("/proc/meminfo", "HugePages_Free:      512\nHugepagesize:       2048 kB");

    assertThat(only(machine.look(new HugePagesCheck(), "1GiB")).verdict()).isEqualTo(Verdict.OK);
    assertThat(only(machine.look(new HugePagesCheck(), "2GiB")).verdict()).isEqualTo(Verdict.FAIL);
  }

  @Test
  void ring_isTriedInTheSsdFolder() {
    machine.mounts(DISK).file("/data/x", "").file("/proc/sys/kernel/io_uring_disabled", "0");
    List<String> tried = new ArrayList<>();

    List<Finding> findings = machine.lookAtSsd(new StorageCheck((folder, direct) -> {
      tried.add(folder + " " + direct);
      return Optional.empty();
    }, Path.of("/tmp")), "/data");

    assertThat(tried).containsExactly("/data false", "/data true");
    assertThat(findings).extracting(Finding::verdict).containsExactly(Verdict.OK, Verdict.OK, Verdict.OK);
    assertThat(findings).extracting(Finding::found).containsExactly(
        "works, kernel.io_uring_disabled is 0", "ext4 with O_DIRECT", "8GiB free of 16GiB");
  }

  @Test
  void ringThatIsRefused_isSaidWithTheReason() {
    machine.mounts(DISK).file("/data/x", "").file("/proc/sys/kernel/io_uring_disabled", "2");

    List<Finding> findings = machine.lookAtSsd(
        new StorageCheck((folder, direct) -> Optional.of("set it to 0"), Path.of("/tmp")), "/data");

    assertThat(findings.getFirst()).isEqualTo(Finding.warn("io_uring",
        "refused, kernel.io_uring_disabled is 2", "allowed, for the SSD tier", "set it to 0"));
    assertThat(findings.get(1).found()).isEqualTo("ext4, O_DIRECT not tried without io_uring");
  }

  @Test
  void fileSystemThatRefusesDirectTransfers_fails() {
    machine.mounts(DISK).file("/data/x", "");

    List<Finding> findings = machine.lookAtSsd(new StorageCheck(
        (folder, direct) -> direct ? Optional.of("no O_DIRECT") : Optional.empty(), Path.of("/tmp")), "/data");

    assertThat(findings).extracting(Finding::verdict).containsExactly(Verdict.OK, Verdict.FAIL, Verdict.OK);
    assertThat(findings.get(1).fix()).isEqualTo("no O_DIRECT");
  }

  @Test
  void ssdFolder_mustExistWithRoom() {
    StorageCheck check = new StorageCheck((folder, direct) -> Optional.empty(), Path.of("/tmp"));
    machine.mounts(DISK).file("/data/x", "").usable(100);

    assertThat(machine.lookAtSsd(check, "/data").getLast().verdict()).isEqualTo(Verdict.FAIL);
    assertThat(machine.lookAtSsd(check, "/absent").getLast())
        .isEqualTo(Finding.fail("SSD folder", "'/absent' is missing", "a folder on a local disk", "mkdir /absent"));
  }

  @Test
  void gpus_areNotNeeded() {
    assertThat(only(machine.look(new GpuCheck()))).matches(
        finding -> finding.verdict() == Verdict.OK && finding.found().equals("none"));
  }

  @Test
  void gpus_areCountedWithTheirDriver() {
    machine.file("/dev/nvidia0", "").file("/dev/nvidia1", "").file("/dev/nvidiactl", "").file("/dev/nvidia-uvm", "")
        .file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Kernel Module  580.65.06\nGCC version: 12")
        .link("/proc/self/ns/ipc", "ipc:[4026531839]");

    assertThat(machine.look(new GpuCheck())).extracting(Finding::found).containsExactly(
        "2 (nvidia0, nvidia1), NVIDIA UNIX Kernel Module 580.65.06", "in the machine's IPC namespace");
  }

  @Test
  void gpusWithoutTheDevicesForSharing_areWarnedOf() {
    machine.file("/dev/nvidia0", "").file("/dev/nvidiactl", "").file("/proc/driver/nvidia/version", "x");

    assertThat(machine.look(new GpuCheck()).getLast()).matches(
        finding -> finding.verdict() == Verdict.WARN && finding.found().equals("not usable: /dev/nvidia-uvm"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io/serviceaccount/token"})
  void container_isSeen(String mark) {
    machine.file(mark, "").link("/proc/self/ns/pid", "pid:[4026532999]");

    assertThat(only(machine.look(new ContainerCheck())).found())
        .isEqualTo("yes, processes of this pid namespace are seen");
  }

  @Test
  void machineWithoutAnyFile_isNeverAnException() {
    Doctor doctor = new Doctor((folder, direct) -> Optional.empty(), Path.of("/tmp"));

    List<Finding> findings = doctor.examine(machine.machine(),
        new Plan(Optional.empty(), Path.of("/dev/shm/x"), Optional.of(Path.of("/data"))));

    assertThat(findings).hasSizeGreaterThan(10).allSatisfy(finding ->
        assertThat(finding.fix().isEmpty()).as(finding.toString()).isEqualTo(finding.verdict() == Verdict.OK));
  }

  private void limits(String lockedMemory, String openFiles) {
    machine.file("/proc/self/limits", """
        Limit                     Soft Limit           Hard Limit           Units
        Max open files            %s                   1048576              files
        Max locked memory         %s                   8388608              bytes
        """.formatted(openFiles, lockedMemory));
  }

  private static Finding only(List<Finding> findings) {
    assertThat(findings).hasSize(1);
    return findings.getFirst();
  }
}
