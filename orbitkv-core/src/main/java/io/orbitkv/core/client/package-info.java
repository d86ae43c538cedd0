/**
 * The API over a connection to a node Manager: registration, grants as views of the shared arena, and what happens when
 * the Manager is gone.
 *
 * <p>Owns: this process's connections to a Manager, its mappings of the arena and its witnesses. Must not touch: the
 * Manager's state, the encoding of messages, engines.
 */
package io.orbitkv.core.client;
