/** The Manager and its clients with real memory, real files and real processes. */
package io.orbitkv.cli.manager;
