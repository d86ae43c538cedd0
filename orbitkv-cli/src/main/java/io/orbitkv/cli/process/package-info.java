/**
 * Commands of this program as processes of their own.
 *
 * <p>Owns: how this program is started once more, and a child's life. Must not touch: what a child is told or says.
 */
package io.orbitkv.cli.process;
