package io.orbitkv.backend.iouring.ring;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.backend.iouring.file.Errno;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class RingRefusalTest {

  private static KernelSettings settings(String ioUringDisabled) {
    return new KernelSettings("5.15.0-1", ioUringDisabled, "8388608");
  }

  private static String ofSetup(Errno errno, String ioUringDisabled) {
    return RingRefusal.ofSetup(errno.number(), 128, settings(ioUringDisabled)).getMessage();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          ENOSYS  |    | older than 5.1
          ENOSYS  |    | seccomp
          ENOTSUP |    | use 5.6 or newer
          EPERM   | 2  | kernel.io_uring_disabled is 2
          EPERM   | 1  | kernel.io_uring_group
          EPERM   | 0  | seccomp
          EPERM   |    | seccomp
          EACCES  | 0  | SELinux
          ENOMEM  | 0  | RLIMIT_MEMLOCK is 8388608 bytes
          ENOMEM  | 0  | depth 128
          EMFILE  | 0  | RLIMIT_NOFILE
          ENFILE  | 0  | fs.file-max
          """)
  void setup_refused_namesTheKnob(Errno errno, String ioUringDisabled, String knob) {
    assertThat(ofSetup(errno, ioUringDisabled == null ? "" : ioUringDisabled)).contains(errno.name(), knob);
  }

  @ParameterizedTest
  @EnumSource(Errno.class)
  void setup_refused_namesTheErrorAndTheOtherWay(Errno errno) {
    assertThat(ofSetup(errno, "0"))
        .startsWith("io_uring is refused with " + errno.name())
        .endsWith("choose storage=file, which keeps the same format through file channels");
  }

  @Test
  void registration_beyondTheLimit_namesItAndWhatIsNeeded() {
    assertThat(RingRefusal.ofRegistration(Errno.ENOMEM.number(), 67108864, settings("0")))
        .contains("RLIMIT_MEMLOCK is 8388608 bytes", "67108864 are needed");
  }

  @Test
  void registration_ofAMappedFile_saysSo() {
    assertThat(RingRefusal.ofRegistration(Errno.ENOTSUP.number(), 4096, settings("0"))).contains("mapped file");
  }

  @Test
  void memlockLimit_isFoundInTheLimitsOfAProcess() {
    String limits =
        """
        Limit                     Soft Limit           Hard Limit           Units
        Max processes             96371                96371                processes
        Max locked memory         8388608              unlimited            bytes
        """;
    assertThat(KernelSettings.memlockLimit(limits)).isEqualTo("8388608");
    assertThat(KernelSettings.memlockLimit("")).isEmpty();
  }

  @Test
  void settings_ofThisMachine_areRead() {
    KernelSettings settings = KernelSettings.read();
    assertThat(settings.release()).isNotEmpty();
    assertThat(settings.memlockLimit()).matches("unlimited|[0-9]+");
  }
}
