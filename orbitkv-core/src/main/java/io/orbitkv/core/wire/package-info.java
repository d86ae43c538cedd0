/**
 * The protocol between a Manager and those who attach to it, and between an agent and its engine: messages, their
 * encoding and the frames they travel in. {@code docs/wire.md} has it byte by byte.
 *
 * <p>Owns: what a message is and how it looks on the wire. Must not touch: who listens and accepts, the core's
 * state, files.
 */
package io.orbitkv.core.wire;
