/**
 * One preallocated file with asynchronous positional transfers, and the ways to drive it.
 *
 * <p>Owns: the boundary to the operating system's files. Faults are injected here in tests. Must not touch: the store's
 * format.
 */
package io.orbitkv.backend.iouring.file;
