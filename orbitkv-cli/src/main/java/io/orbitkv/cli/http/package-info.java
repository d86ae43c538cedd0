/**
 * What a Manager shows over HTTP: health, metrics, its status as JSON and as a page, and the verbs of an operator.
 *
 * <p>Owns: who may ask for what, and how a {@link io.orbitkv.core.manager.ManagerStatus} looks outside the process.
 * Must not touch: the cache other than through {@link io.orbitkv.core.manager.Operated}.
 */
package io.orbitkv.cli.http;
