/**
 * The node Manager: one process that owns a host's cache and serves it to engine instances over a Unix socket.
 *
 * <p>Owns: the registration of instances and their members, the proof of a member's death, and what an operator can see
 * and do. Must not touch: the decisions of the machine behind it, the encoding of messages, HTTP.
 */
package io.orbitkv.core.manager;
