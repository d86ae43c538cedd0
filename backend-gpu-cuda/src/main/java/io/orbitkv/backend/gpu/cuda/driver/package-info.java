/**
 * The CUDA driver: found, opened and called, with every answer checked.
 *
 * <p>Owns: native calls, contexts, streams, events, pinned and imported memory. Must not touch: what a page, a shard or a
 * transfer is.
 */
package io.orbitkv.backend.gpu.cuda.driver;
