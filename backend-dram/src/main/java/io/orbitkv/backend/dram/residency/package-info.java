/**
 * The orders in which blocks leave memory.
 *
 * <p>Owns: what is remembered about blocks in and lately out of memory, and the rank made of it. Must not touch: which
 * blocks can leave and when one must, which are the core's; bytes; clocks of the machine.
 */
package io.orbitkv.backend.dram.residency;
