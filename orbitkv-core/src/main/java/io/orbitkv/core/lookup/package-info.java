/**
 * What a cache has of a request's blocks, found out without holding up the engine's scheduler.
 *
 * <p>Owns: queries under way, the thread that speaks to the cache, and how long the scheduler's thread may wait for it.
 * Must not touch: the life of requests, messages.
 */
package io.orbitkv.core.lookup;
