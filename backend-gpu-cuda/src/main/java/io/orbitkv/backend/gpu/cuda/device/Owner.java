package io.orbitkv.backend.gpu.cuda.device;

import java.util.Optional;

/**
 * The process whose work copies may wait for.
 *
 * @param process the process, if this one can see it
 */
record Owner(Optional<ProcessHandle> process) {

  /** Nobody whose end would say anything. */
  static Owner unknown() {
    return new Owner(Optional.empty());
  }

  /** The process of a number, as it has it in its own view of the system. */
  static Owner of(long pid) {
    return new Owner(ProcessHandle.of(pid).filter(ProcessHandle::isAlive));
  }

  /** Returns whether it is known to have ended. */
  boolean gone() {
    return process.isPresent() && !process.get().isAlive();
  }
}
