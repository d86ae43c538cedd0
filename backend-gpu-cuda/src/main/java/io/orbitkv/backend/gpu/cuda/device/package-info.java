/**
 * The device "cuda": an engine's pages on a GPU, and transfers between them and pinned host memory.
 *
 * <p>Owns: how pages are copied, in which order, what is pinned, when a transfer is drained, and checksums of saved
 * shards. Must not touch: where shards come from, what they mean.
 */
package io.orbitkv.backend.gpu.cuda.device;
