/**
 * The table of blocks: one fixed-size row a block in memory outside the heap, found by its exact name.
 *
 * <p>Owns: the form of rows, their links and the way from a name to a row. Must not touch: what a state means, tiers,
 * time. Everything here is used by one thread at a time, the owner of the core.
 */
package io.orbitkv.core.block;
