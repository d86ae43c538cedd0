/**
 * A deterministic simulator of the core: one seed drives what callers do, when the store ends a request and how, the
 * clock, crashes and damage. After every event all invariants are checked; every byte that is served is compared.
 *
 * <p>A failure names its seed; {@code -Dorbitkv.sim.seed=N} runs that seed alone.
 */
package io.orbitkv.core.sim;
