/**
 * Compositions of prefill and decode as a command meets them: files on a disk, processes behind HTTP.
 *
 * <p>Owns: the syntax of the file, and the requests that a check makes. Must not touch: what either means, which {@code
 * io.orbitkv.pd.composition} says.
 */
package io.orbitkv.cli.pd;
