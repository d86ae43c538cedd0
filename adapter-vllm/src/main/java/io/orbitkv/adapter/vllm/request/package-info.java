/**
 * What the adapter knows of an engine's requests, and every decision about them: what is loaded, what is saved, and for
 * how long blocks are held. {@code docs/vllm.md} has the tables and the rules.
 *
 * <p>Owns: the life of a request between its first lookup and its last report. Must not touch: sockets, bytes of
 * blocks, the engine's pages beyond their numbers.
 */
package io.orbitkv.adapter.vllm.request;
