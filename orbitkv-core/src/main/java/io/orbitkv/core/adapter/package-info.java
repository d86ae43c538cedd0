/**
 * What the adapters of all engines have in common at their socket.
 *
 * <p>Owns: the socket, who is connected and who may be, that a request is answered whatever comes of it, and the place of
 * an engine's scheduler in its instance. Must not touch: what messages say, and what is decided for an engine.
 */
package io.orbitkv.core.adapter;
