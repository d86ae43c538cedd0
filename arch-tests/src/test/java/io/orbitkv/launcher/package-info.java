/**
 * The launcher script in trees made for the test, with a JDK and a Maven that only tell how they were called.
 *
 * <p>Owns: how the command is started. Must not touch: what it does.
 */
package io.orbitkv.launcher;
