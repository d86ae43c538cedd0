/**
 * A device whose engine pages lie in host memory: for engines that compute on the CPU, and for every test that needs no
 * GPU.
 *
 * <p>Owns: copies between pages and shards, and their checksums. Must not touch: where shards come from, what they
 * mean.
 */
package io.orbitkv.backend.dram.cpu;
