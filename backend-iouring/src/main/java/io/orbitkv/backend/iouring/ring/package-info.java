/**
 * Store files through io_uring.
 *
 * <p>Owns: the native library, its loading, the ring and the memory that the kernel writes to. Must not touch: the
 * store's format, file channels. Nothing is loaded before a file is opened.
 */
package io.orbitkv.backend.iouring.ring;
