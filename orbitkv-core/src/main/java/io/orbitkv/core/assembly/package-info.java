/**
 * A cache as a whole: what it is made of, and how its parts begin and end together.
 *
 * <p>Owns: the order in which memory, store, core and turns are opened and closed. Must not touch: which providers are
 * chosen, how callers reach the cache.
 */
package io.orbitkv.core.assembly;
