/**
 * The lifecycles of the cache as plain state machines: an enum of states, an enum of events, and one function from both
 * to the next state. An event that a state does not expect is an error that names both; it is never ignored.
 *
 * <p>Owns: which state may follow which. Must not touch: memory, stores, time, or the other packages of the core.
 */
package io.orbitkv.core.lifecycle;
