/**
 * Tests of the durable store: its format byte by byte, and what is left of it after every kind of fault.
 *
 * <p>Owns: the faulty disk and the processes that are killed. Must not touch: native code.
 */
package io.orbitkv.backend.iouring.store;
