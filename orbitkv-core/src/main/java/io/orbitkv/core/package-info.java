/** The doors of the core: how a cache is configured, opened and embedded. */
package io.orbitkv.core;
