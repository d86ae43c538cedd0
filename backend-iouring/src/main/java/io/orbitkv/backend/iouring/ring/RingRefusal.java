package io.orbitkv.backend.iouring.ring;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.iouring.file.Errno;

/** Says which knob makes the kernel refuse a ring or registered memory. */
final class RingRefusal {

  private static final String OTHERWISE =
      "; or choose storage=file, which keeps the same format through file channels";

  private RingRefusal() {}

  /**
   * Explains a failure to set a ring up.
   *
   * @param errno the error, greater than zero
   * @param depth the requests in flight that were asked for
   * @param settings of this machine
   */
  static UnavailableException ofSetup(int errno, int depth, KernelSettings settings) {
    String refusal = "io_uring is refused with " + Errno.describe(errno) + ": ";
    return new UnavailableException(refusal + remedy(errno, depth, settings) + OTHERWISE);
  }

  private static String remedy(int errno, int depth, KernelSettings settings) {
    if (errno == Errno.ENOSYS.number()) {
      return "kernel "
          + settings.release()
          + " has none. It is older than 5.1, built without CONFIG_IO_URING, or hidden behind a sandbox or a seccomp"
          + " profile; use another kernel or allow io_uring_setup, io_uring_enter and io_uring_register there";
    }
    if (errno == Errno.ENOTSUP.number()) {
      return "kernel " + settings.release() + " has too early a version of it; use 5.6 or newer";
    }
    if (errno == Errno.EPERM.number()) {
      return switch (settings.ioUringDisabled()) {
        case "2" -> "kernel.io_uring_disabled is 2, for everybody; set it to 0 (sysctl kernel.io_uring_disabled=0)";
        case "1" ->
            "kernel.io_uring_disabled is 1, for everybody but the group of kernel.io_uring_group; join that group or"
                + " set it to 0 (sysctl kernel.io_uring_disabled=0)";
        default ->
            "kernel.io_uring_disabled does not forbid it, so a seccomp profile does, as containers have by default;"
                + " allow io_uring_setup, io_uring_enter and io_uring_register in it";
      };
    }
    if (errno == Errno.EACCES.number()) {
      return "a security module such as SELinux or AppArmor forbids it; allow io_uring in its policy";
    }
    if (errno == Errno.ENOMEM.number()) {
      return "a ring of depth "
          + depth
          + " does not fit the memory that may be locked (RLIMIT_MEMLOCK is "
          + settings.memlockLimit()
          + " bytes) or that is free; raise the limit (ulimit -l, LimitMEMLOCK= in systemd) or lower the depth";
    }
    if (errno == Errno.EMFILE.number()) {
      return "this process has no file descriptors left; raise RLIMIT_NOFILE (ulimit -n, LimitNOFILE= in systemd)";
    }
    if (errno == Errno.ENFILE.number()) {
      return "the system has no file descriptors left; raise fs.file-max";
    }
    return "not known to depend on a setting; kernel " + settings.release();
  }

  /**
   * Explains a failure to register memory. Transfers work without.
   *
   * @param errno the error, greater than zero
   * @param bytes the memory to register
   * @param settings of this machine
   */
  static String ofRegistration(int errno, long bytes, KernelSettings settings) {
    String failure = "not registered, so each transfer maps its memory: " + Errno.describe(errno);
    if (errno == Errno.ENOMEM.number()) {
      return failure
          + ": RLIMIT_MEMLOCK is "
          + settings.memlockLimit()
          + " bytes, "
          + bytes
          + " are needed; raise it (ulimit -l, LimitMEMLOCK= in systemd) or grant CAP_IPC_LOCK";
    }
    if (errno == Errno.ENOTSUP.number()) {
      return failure + ": the memory is a mapped file outside tmpfs and hugetlbfs";
    }
    return failure;
  }
}
