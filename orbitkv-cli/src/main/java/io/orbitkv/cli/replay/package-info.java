/**
 * Serves a workload through the whole path of a cache, as an engine would, and checks every byte that comes back.
 *
 * <p>Owns: the stand-in for an engine (its pages, what it "computes") and what a replay counts. Must not touch: which
 * cache it is given, or how results are shown.
 */
package io.orbitkv.cli.replay;
