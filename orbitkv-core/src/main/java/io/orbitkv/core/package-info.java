/**
 * The doors of the core: how backends are found, and how a cache is configured, opened and used inside a process.
 *
 * <p>Owns: the embedded form of the API, and the order in which a cache's parts are opened and closed. Must not touch:
 * the decisions of the machine behind it.
 */
package io.orbitkv.core;
