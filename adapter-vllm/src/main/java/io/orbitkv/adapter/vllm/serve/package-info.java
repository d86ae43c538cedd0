/**
 * The adapter's socket and its connections.
 *
 * <p>Owns: who is connected, and the session of the instance's scheduler. Must not touch: what is answered about a
 * request.
 */
package io.orbitkv.adapter.vllm.serve;
