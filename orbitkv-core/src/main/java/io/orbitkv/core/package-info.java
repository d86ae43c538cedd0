/**
 * The doors of the core: how backends are found, and how a cache is configured, opened and used inside a process.
 *
 * <p>Owns: the embedded form of the API, and what can be set of a cache in any form. Must not touch: the decisions of the
 * machine behind it.
 */
package io.orbitkv.core;
