/**
 * What a backend implements. A <em>provider</em> ({@link io.orbitkv.api.spi.StorageBackend}, {@link
 * io.orbitkv.api.spi.HostMemory}, {@link io.orbitkv.api.spi.ResidencyPolicy}, {@link
 * io.orbitkv.api.spi.DeviceBackend}) is found by {@link java.util.ServiceLoader}. Naming, loading or listing one never
 * loads native code and opens no device, file, socket or thread: that happens only in {@code open}.
 *
 * <p>Owns: the boundary between the core and everything that can be swapped. Must not touch: implementations.
 */
package io.orbitkv.api.spi;
