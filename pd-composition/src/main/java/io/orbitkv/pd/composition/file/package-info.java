/**
 * The file that an operator writes, as values with their lines, and what it means.
 *
 * <p>Owns: the names of settings, their forms and defaults. Must not touch: the syntax of the file, which whoever reads
 * it knows; what is safe, which rules say.
 */
package io.orbitkv.pd.composition.file;
