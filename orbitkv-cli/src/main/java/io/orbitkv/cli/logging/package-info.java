/**
 * The log of the process: what {@link java.lang.System.Logger} lines become, and how many.
 *
 * <p>Owns: the binding to Logback. Must not touch: what is logged, and where libraries log.
 */
package io.orbitkv.cli.logging;
