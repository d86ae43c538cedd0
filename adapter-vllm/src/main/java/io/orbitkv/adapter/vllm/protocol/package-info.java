/**
 * The protocol vllm-1, between the scheduler half of the connector and the adapter: messages and their encoding.
 * {@code docs/vllm.md} has the tables.
 *
 * <p>Owns: what a message is and how it looks on the wire. Must not touch: the life of requests, the cache, files.
 */
package io.orbitkv.adapter.vllm.protocol;
