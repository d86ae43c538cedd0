/**
 * What a composition is: its engine, the workers and their roles, the transport that hands over, the cache that
 * remembers, the router.
 *
 * <p>Owns: the model, as an operator means it. Must not touch: files, processes, sockets, bytes of blocks; whether a
 * composition is safe is for the rules to say.
 */
package io.orbitkv.pd.composition;
