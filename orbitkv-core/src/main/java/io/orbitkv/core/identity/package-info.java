/**
 * What decides the meaning of an engine's blocks: the contents of the model's files, and the settings that the
 * connector states.
 *
 * <p>Owns: digests of files, the cache of them in the state folder, and how facts become a namespace. Must not touch:
 * what is stored under the namespace.
 */
package io.orbitkv.core.identity;
