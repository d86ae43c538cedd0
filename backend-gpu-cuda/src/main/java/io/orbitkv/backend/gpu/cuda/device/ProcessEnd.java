package io.orbitkv.backend.gpu.cuda.device;

import java.lang.System.Logger.Level;

/**
 * What happens when nobody can tell any more whether the GPU still reads or writes. No memory may be used again then, by
 * anyone, until the kernel has taken this process and its hold of the GPU apart, so the process ends at once.
 */
@FunctionalInterface
interface ProcessEnd {

  /** The exit status, of its own, so that whoever watches the process can tell. */
  int STATUS = 70;

  /** Does not return. */
  void end(String reason);

  static ProcessEnd halting() {
    return reason -> {
      System.getLogger(ProcessEnd.class.getName()).log(Level.ERROR, "nothing is known of copies that were submitted: "
          + reason + "; this process ends, so that the memory they use is given up by the kernel");
      // Not exit: that runs hooks, which would wait for these copies.
      Runtime.getRuntime().halt(STATUS);
    };
  }
}
