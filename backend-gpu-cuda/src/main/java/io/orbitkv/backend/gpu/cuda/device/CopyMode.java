package io.orbitkv.backend.gpu.cuda.device;

/** What moves the bytes. */
enum CopyMode {
  /** The copy engines, which leave the multiprocessors alone. */
  DIRECT,
  /** A kernel that reads or writes host memory: faster for small pieces, and the engine computes more slowly meanwhile. */
  KERNEL,
  /** The copy engines, or for loads the kernel where a measurement of the engine's own layout says so. */
  AUTO
}
