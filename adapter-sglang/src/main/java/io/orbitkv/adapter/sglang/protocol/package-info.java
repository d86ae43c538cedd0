/**
 * The messages between an engine's ranks and the adapter, sglang-1.
 *
 * <p>Owns: messages, their bytes, and a connection's two ends. Must not touch: what is answered.
 */
package io.orbitkv.adapter.sglang.protocol;
