/**
 * What a command writes to a person: text, tables and progress, and what differs when nobody looks.
 *
 * <p>Owns: the two output streams and the question whether they are a terminal. Must not touch: what the figures mean.
 */
package io.orbitkv.cli.terminal;
