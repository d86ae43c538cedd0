/**
 * The ownership table of the architecture as tests: who may depend on whom, who may load native code, what a package
 * must say about itself. Every rule stands in one file with the violations that it must find, planted by {@link
 * io.orbitkv.arch.Plant} in modules that are compiled for the occasion.
 *
 * <p>Owns: the boundaries between modules. Must not touch: what lies inside them.
 */
package io.orbitkv.arch;
