/**
 * A Manager and engine stand-ins as processes of their own, and everything that can happen to them.
 *
 * <p>Owns: faults of processes and sockets, and what must be true after each. Must not touch: the core's state; it sees a
 * Manager as any client does.
 */
package io.orbitkv.cli.chaos;
