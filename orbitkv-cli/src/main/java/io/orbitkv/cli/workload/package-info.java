/**
 * The prompts that a replay serves: read from a trace file, or generated from a seed.
 *
 * <p>Owns: the trace format and the shapes of generated workloads. Must not touch: the cache, or what is done with a
 * prompt.
 */
package io.orbitkv.cli.workload;
