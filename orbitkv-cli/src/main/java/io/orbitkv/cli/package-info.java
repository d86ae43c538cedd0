/**
 * The {@code orbitkv} command: its subcommands, options, exit codes and plugins.
 *
 * <p>Exit codes: 0 done, 1 the work failed (a wrong byte, a machine that lacks something, an unforeseen error), 2 a
 * mistake in the command line.
 *
 * <p>Owns: the command line and what it prints. Must not touch: cache state other than through {@code io.orbitkv.api}.
 */
package io.orbitkv.cli;
