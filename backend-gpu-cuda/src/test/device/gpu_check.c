/*
 * The native library alone against a GPU, small enough for compute-sanitizer: copies of random shapes, each way, by the
 * copy engines and by the kernel, compared byte for byte with sentinels all around.
 *
 *   gpu_check IMAGE    with the kernel's image, PTX or machine code
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK = 4 << 20, HOST = 2 * CHUNK, POOL = 16 << 20, ROUNDS = 24, MOST_BLOCKS = 16, MOST_LAYERS = 12 };

static struct driver *driver;
static struct gpu *gpu;
static cu_stream stream;
static cu_event event;
static uint64_t seed = 88172645463325252u;

static void check(int result, const char *what) {
  if (result < 0) {
    char said[256] = "";
    if (driver) {
      gpu_error(driver, -result, said, sizeof said);
    }
    fprintf(stderr, "%s: %d %s\n", what, result, said);
    exit(1);
  }
}

#define CHECK(call) check(call, #call)

static uint32_t below(uint32_t bound) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return (uint32_t)((seed >> 11) % bound);
}

/* How many pages some blocks are spread over: a prime, so that steps of 17 meet none twice. */
static uint32_t pages_apart(uint32_t blocks) { return blocks <= 7 ? 7 : blocks <= 13 ? 13 : 19; }

static void drain(void) {
  CHECK(gpu_record(gpu, event, stream));
  if (gpu_await(gpu, event, INT64_C(20000000000)) != 1) {
    fprintf(stderr, "copies do not end\n");
    exit(1);
  }
}

static void move(cu_pointer device, void *host, size_t bytes, bool in) {
  struct gpu_copy copy = {.device = device, .host = (uint64_t)host, .row_bytes = (uint32_t)bytes, .rows = 1};
  CHECK(gpu_copy(gpu, stream, &copy, 1, in));
  drain();
}

int main(int count, char **arguments) {
  char said[256];
  (void)count;
  check(gpu_load("libcuda.so.1", said, sizeof said, &driver), said);
  CHECK(gpu_open(driver, 0, &gpu));
  CHECK(gpu_stream(gpu, true, &stream));
  CHECK(gpu_event(gpu, &event));
  FILE *file = fopen(arguments[1], "rb");
  static char image[1 << 20];
  if (!file || !fread(image, 1, sizeof image - 1, file)) {
    fprintf(stderr, "cannot read %s\n", arguments[1]);
    return 1;
  }
  fclose(file);
  cu_function kernel;
  CHECK(gpu_kernel(gpu, image, "orbitkv_copy", &kernel));

  cu_pointer pool, tables;
  void *scratch, *table;
  CHECK(gpu_allocate(gpu, POOL, &pool));
  CHECK(gpu_allocate(gpu, 1 << 16, &tables));
  CHECK(gpu_allocate_host(gpu, POOL, &scratch));
  CHECK(gpu_allocate_host(gpu, 1 << 16, &table));
  char *host = mmap(NULL, HOST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(gpu_pin(gpu, host, CHUNK));
  CHECK(gpu_pin(gpu, host + CHUNK, CHUNK));
  char *expected_pool = malloc(POOL), *expected_host = malloc(HOST);

  for (int round = 0; round < ROUNDS; round++) {
    bool in = round & 1, by_kernel = round & 2, aligned = round & 4;
    uint32_t unit = aligned ? 16 : 1;
    uint32_t layers = 1 + below(MOST_LAYERS), blocks = 1 + below(MOST_BLOCKS - 1);
    uint32_t bytes = unit * (1 + below(20000 / unit)), pages = MOST_BLOCKS * 2;
    uint64_t pitch = (uint64_t)bytes * pages + unit * below(64);
    for (int i = 0; i < POOL; i++) {
      expected_pool[i] = (char)(i * 7 + round);
    }
    for (int i = 0; i < HOST; i++) {
      expected_host[i] = (char)(i * 13 + round + 1);
    }
    memcpy(scratch, expected_pool, POOL);
    memcpy(host, expected_host, HOST);
    move(pool, scratch, POOL, true);
    struct gpu_copy copies[MOST_BLOCKS * MOST_LAYERS];
    uint64_t *stripe = table, *block = stripe + 3 * MOST_LAYERS;
    uint32_t first = below(pages - pages_apart(blocks)), n = 0;
    for (uint32_t l = 0; l < layers; l++) {
      stripe[3 * l] = pool + l * pitch, stripe[3 * l + 1] = bytes, stripe[3 * l + 2] = (uint64_t)l * bytes;
    }
    for (uint32_t b = 0; b < blocks; b++) {
      uint64_t page = first + (b * 17) % pages_apart(blocks);
      char *shard = host + b % 2 * CHUNK + b / 2 * (CHUNK / (MOST_BLOCKS / 2));
      block[2 * b] = (uint64_t)shard, block[2 * b + 1] = page;
      if (b % 3) {
        copies[n++] = (struct gpu_copy){pool + page * bytes, (uint64_t)shard, pitch, bytes, bytes, layers};
      } else {
        for (uint32_t l = 0; l < layers; l++) {
          copies[n++] = (struct gpu_copy){pool + l * pitch + page * bytes, (uint64_t)shard + l * bytes, 0, 0, bytes, 1};
        }
      }
      for (uint32_t l = 0; l < layers; l++) {
        char *in_pool = expected_pool + l * pitch + page * bytes;
        char *in_host = expected_host + (shard - host) + (size_t)l * bytes;
        memcpy(in ? in_pool : in_host, in ? in_host : in_pool, bytes);
      }
    }
    if (by_kernel) {
      move(tables, table, 1 << 16, true);
      struct gpu_launch launch = {tables, tables + 24 * MOST_LAYERS, layers, bytes, blocks, in, aligned, 4};
      CHECK(gpu_launch(gpu, kernel, stream, &launch));
    } else {
      CHECK(gpu_copy(gpu, stream, copies, n, in));
    }
    drain();
    move(pool, scratch, POOL, false);
    if (memcmp(scratch, expected_pool, POOL) || memcmp(host, expected_host, HOST)) {
      fprintf(stderr, "round %d: %u layers of %u bytes, %u blocks, in %d, kernel %d: wrong bytes\n", round, layers,
              bytes, blocks, in, by_kernel);
      return 1;
    }
  }
  CHECK(gpu_unpin(gpu, host));
  CHECK(gpu_unpin(gpu, host + CHUNK));
  CHECK(gpu_free_host(gpu, scratch));
  CHECK(gpu_free_host(gpu, table));
  CHECK(gpu_free(gpu, pool));
  CHECK(gpu_free(gpu, tables));
  CHECK(gpu_end_event(gpu, event));
  CHECK(gpu_end_stream(gpu, stream));
  CHECK(gpu_close(gpu));
  printf("%d rounds: every byte as expected\n", ROUNDS);
  free(expected_pool);
  free(expected_host);
  return 0;
}
