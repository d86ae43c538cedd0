// Copies pieces of pages to or from shards. One side may lie in host memory that is pinned and mapped.
//
// A block's shard packs its pieces; in the pool the pieces of a block lie apart. Both sides are affine, so a launch needs
// one row a block and one row a stripe, not one a piece.

#include <stdint.h>

// A piece of every page: where page 0 has it, how far apart pages are, and where a shard has it. As CopyKernel.java
// writes it.
struct stripe {
  uint64_t pool;
  uint64_t page_stride;
  uint64_t shard_at;
};

// A block: its shard's address and its page. As CopyKernel.java writes it.
struct block {
  uint64_t shard;
  uint64_t page;
};

// What a warp moves at a time: each lane has DEPTH loads of 16 bytes under way, which hides the latency of the bus.
constexpr uint32_t LANES = 32;
constexpr uint32_t DEPTH = 8;
constexpr uint32_t CHUNK = LANES * DEPTH * sizeof(uint4);

static __device__ void move_words(char *target, const char *source, uint32_t bytes, uint32_t lane) {
  const uint4 *from = (const uint4 *)source;
  uint4 *to = (uint4 *)target;
  if (bytes == CHUNK) {
    uint4 words[DEPTH];
#pragma unroll
    for (uint32_t i = 0; i < DEPTH; i++) {
      words[i] = __ldcs(from + i * LANES + lane);
    }
#pragma unroll
    for (uint32_t i = 0; i < DEPTH; i++) {
      __stcs(to + i * LANES + lane, words[i]);
    }
  } else {
    for (uint32_t i = lane; i < bytes / sizeof(uint4); i += LANES) {
      __stcs(to + i, __ldcs(from + i));
    }
  }
}

static __device__ void move_bytes(char *target, const char *source, uint32_t bytes, uint32_t lane) {
  for (uint32_t i = lane; i < bytes; i += LANES) {
    target[i] = source[i];
  }
}

// Moves `bytes` of each stripe of each block, stripe behind stripe. `to_pool` says which way; `aligned`, that every
// address and size is a multiple of 16.
extern "C" __global__ void orbitkv_copy(const struct stripe *stripes, uint32_t stripe_count, uint32_t bytes,
                                        const struct block *blocks, uint32_t block_count, uint32_t to_pool,
                                        uint32_t aligned) {
  uint32_t lane = threadIdx.x % LANES;
  uint64_t warp = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  uint64_t warps = (uint64_t)gridDim.x * blockDim.x / LANES;
  uint32_t chunks = (bytes + CHUNK - 1) / CHUNK;
  uint64_t units = (uint64_t)stripe_count * block_count * chunks;
  for (uint64_t unit = warp; unit < units; unit += warps) {
    uint32_t chunk = unit % chunks;
    uint64_t piece = unit / chunks;
    struct block block = blocks[piece % block_count];
    struct stripe stripe = stripes[piece / block_count];
    uint32_t at = chunk * CHUNK;
    uint32_t length = min(CHUNK, bytes - at);
    char *pool = (char *)(stripe.pool + block.page * stripe.page_stride + at);
    char *shard = (char *)(block.shard + stripe.shard_at + at);
    char *target = to_pool ? pool : shard;
    const char *source = to_pool ? shard : pool;
    if (aligned) {
      move_words(target, source, length, lane);
    } else {
      move_bytes(target, source, length, lane);
    }
  }
}
