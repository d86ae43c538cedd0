package io.orbitkv.backend.gpu.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A launch of the copy kernel: so many bytes of each stripe of each block.
 *
 * @param stripes address of the stripes in the GPU's memory: pool address, page stride, offset in a shard (8 bytes each)
 * @param stripeCount how many
 * @param pieceBytes bytes of a stripe
 * @param blocks address of the blocks in the GPU's memory: shard address, page (8 bytes each)
 * @param blockCount how many
 * @param toPool whether shards are copied to the pool, or the pool to shards
 * @param aligned whether all addresses and sizes are multiples of 16
 * @param grid how many multiprocessors at most copy
 */
public record KernelLaunch(long stripes, int stripeCount, int pieceBytes, long blocks, int blockCount, boolean toPool,
    boolean aligned, int grid) {

  /** Bytes of a stripe in the GPU's memory. */
  public static final int STRIPE_BYTES = 24;

  /** Bytes of a block in the GPU's memory. */
  public static final int BLOCK_BYTES = 16;

  MemorySegment copyTo(Arena arena) {
    MemorySegment launch = arena.allocate(Cuda.LAUNCH_BYTES, Long.BYTES);
    launch.set(JAVA_LONG, Cuda.LAUNCH_STRIPES, stripes);
    launch.set(JAVA_LONG, Cuda.LAUNCH_BLOCKS, blocks);
    launch.set(JAVA_INT, Cuda.LAUNCH_STRIPE_COUNT, stripeCount);
    launch.set(JAVA_INT, Cuda.LAUNCH_PIECE_BYTES, pieceBytes);
    launch.set(JAVA_INT, Cuda.LAUNCH_BLOCK_COUNT, blockCount);
    launch.set(JAVA_INT, Cuda.LAUNCH_TO_POOL, toPool ? 1 : 0);
    launch.set(JAVA_INT, Cuda.LAUNCH_ALIGNED, aligned ? 1 : 0);
    launch.set(JAVA_INT, Cuda.LAUNCH_GRID, grid);
    return launch;
  }
}
