/**
 * Memory for blocks: one mapping, taken slab by slab in the background, and the allocator over it.
 *
 * <p>Owns: the arena file and its lock, the system calls that map and reserve memory, the check that it fits, extents
 * and their offsets. Must not touch: what the bytes mean, which block leaves, devices.
 */
package io.orbitkv.backend.dram.arena;
