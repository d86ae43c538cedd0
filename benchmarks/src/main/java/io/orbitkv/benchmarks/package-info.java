/**
 * JMH benchmarks. What a whole process does is measured by {@code orbitkv bench}.
 *
 * <p>Owns: how each piece is measured and what it is compared with. Must not touch: internals; everything goes through
 * the API and the backend interfaces.
 */
package io.orbitkv.benchmarks;
