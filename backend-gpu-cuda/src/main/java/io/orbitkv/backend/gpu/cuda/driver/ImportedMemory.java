package io.orbitkv.backend.gpu.cuda.driver;

/**
 * Memory of another process on the GPU, as this process sees it.
 *
 * @param address where it begins
 * @param bytes its size
 */
public record ImportedMemory(long address, long bytes) {}
