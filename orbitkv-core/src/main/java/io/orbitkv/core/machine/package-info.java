/**
 * The state of a cache and everything that can happen to it. {@link io.orbitkv.core.machine.CacheCore} takes events; its
 * parts each own one matter: {@code MemoryTier} what is in memory, {@code StoreTier} what is on the SSD, {@code Queries}
 * tickets, and so on.
 *
 * <p>Owns: every decision. Must not touch: threads, locks, sockets, files, the bytes of blocks, real time. One thread at
 * a time calls it; it never waits. What takes time is asked of a {@link io.orbitkv.api.spi.BlockStore}, whose
 * completions come back as events.
 */
package io.orbitkv.core.machine;
