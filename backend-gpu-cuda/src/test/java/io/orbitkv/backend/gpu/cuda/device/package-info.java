/**
 * The device "cuda" over a driver for tests, {@code src/test/c/fake_driver.c}. What only a GPU can show is checked by
 * {@code src/test/device}.
 *
 * <p>Owns: tests of copies, their order and their ends. Must not touch: a GPU.
 */
package io.orbitkv.backend.gpu.cuda.device;
