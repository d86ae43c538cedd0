/**
 * Measurements that an operator runs on the machine at hand: lookups, the SSD tier beside fio, the allocator.
 *
 * <p>Owns: how each figure is measured. Must not touch: the cache's internals; everything goes through the API and the
 * backend interfaces. Measurements of single pieces of code are in the {@code benchmarks} module.
 */
package io.orbitkv.cli.bench;
