/**
 * The adapter's socket and its connections.
 *
 * <p>Owns: which ranks are connected, and the session of the instance. Must not touch: what is answered about a
 * request.
 */
package io.orbitkv.adapter.sglang.serve;
