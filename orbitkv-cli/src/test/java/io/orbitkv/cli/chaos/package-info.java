/** Tests with real processes, killed, stopped and cut off in every state. */
package io.orbitkv.cli.chaos;
