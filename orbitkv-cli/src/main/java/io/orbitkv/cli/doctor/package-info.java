/**
 * Whether a machine has what the cache needs: a check each, with what was found, what is needed and how to fix it.
 *
 * <p>Owns: the checks and their words. Must not touch: what it looks at; nothing is changed, and only the trial of a
 * store writes, to a folder of its own.
 */
package io.orbitkv.cli.doctor;
