/**
 * Whether a running composition is what its file says.
 *
 * <p>Owns: which questions are asked of which process, and what its answers should be. Must not touch: sockets;
 * somebody else asks.
 */
package io.orbitkv.pd.composition.check;
