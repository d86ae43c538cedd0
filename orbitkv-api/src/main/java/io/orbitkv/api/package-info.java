/**
 * The operations and the identity types of the cache, as an engine or an integrator sees them.
 *
 * <p>Owns: names of stored bytes ({@link io.orbitkv.api.Namespace}, {@link io.orbitkv.api.PrefixChain}), the lifecycles
 * that a caller drives ({@link io.orbitkv.api.Ticket}, {@link io.orbitkv.api.Lease}, {@link io.orbitkv.api.SaveGrant},
 * {@link io.orbitkv.api.RestoreGrant}) and the errors. Code written against this package cannot tell an embedded cache
 * from a connection to a node Manager.
 *
 * <p>Must not touch: files, sockets, native code, threads, or any library outside {@code java.base}.
 */
package io.orbitkv.api;
