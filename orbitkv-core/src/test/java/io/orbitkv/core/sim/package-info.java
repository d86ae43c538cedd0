/**
 * A deterministic simulator of the core: one seed drives what callers do, when the store ends a request and how, the
 * clock, crashes and damage. After every event all invariants are checked; every byte that is served is compared.
 *
 * <p>That it can find what it looks for is tested too: {@code PlantedBugsTest} plants faults in copies of the core and
 * requires it to find each.
 *
 * <p>A failure names its seed; {@code -Dorbitkv.sim.seed=N} runs that seed alone.
 */
package io.orbitkv.core.sim;
