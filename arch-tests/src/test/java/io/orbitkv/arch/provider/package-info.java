/**
 * What runs in the process that loads and lists every provider: a {@linkplain io.orbitkv.arch.provider.Gates Java
 * agent} that puts a witness at every place where the JDK opens something, and the {@linkplain
 * io.orbitkv.arch.provider.ProviderProbe program} that does the listing.
 *
 * <p>Owns: the observation of one process. Must not touch: which providers there are and what is right.
 */
package io.orbitkv.arch.provider;
