/**
 * The agent of one engine worker: it takes an engine's requests over a private socket, has a device copy between the
 * engine's pages and the cache's blocks, and answers for every copy until it is drained. {@code docs/agent.md} has its
 * protocol.
 *
 * <p>Owns: an engine's connection, its loads and saves, and their order at an end. Must not touch: what blocks are
 * stored and which leave, how bytes are copied, anything of a particular engine.
 */
package io.orbitkv.core.agent;
