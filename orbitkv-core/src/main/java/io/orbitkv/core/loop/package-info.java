/**
 * Turns: how many threads share a core that one thread at a time may enter.
 *
 * <p>Owns: the order of events and the core's clock tick. Must not touch: what an event does.
 */
package io.orbitkv.core.loop;
