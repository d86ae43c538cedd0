/*
 * One GPU, through the CUDA driver that is found when it is opened. There is no driver at link time.
 *
 * Every function answers zero or more on success and a negated CUDA error on failure, or GPU_NO_DRIVER or
 * GPU_OLD_DRIVER; none prints, none exits. All may be called from any thread; a stream's calls are ordered by the
 * caller.
 */
#ifndef ORBITKV_GPU_H
#define ORBITKV_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver_api.h"

/* Outside the range of CUDA's errors. */
enum { GPU_NO_DRIVER = -100000, GPU_OLD_DRIVER = -100001 };

struct driver;
struct gpu;

/* As Java reads it: see Cuda.java. */
struct gpu_facts {
  int32_t driver_version; /* 1000 * major + 10 * minor */
  int32_t major, minor;
  int32_t multiprocessors;
  int32_t copy_engines;
  int32_t host_pointers; /* whether pinned host memory has one address for both sides */
  int32_t batches;       /* whether the driver takes copies in batches */
  uint8_t uuid[16];
  char name[100];
};

/* As Java writes it: `rows` pieces that lie so far apart in the device's memory, and so far in the host's. */
struct gpu_copy {
  uint64_t device;
  uint64_t host;
  uint64_t pitch;
  uint64_t host_pitch;
  uint32_t row_bytes;
  uint32_t rows;
};

/* As Java writes it: a launch of the kernel in pages.cu. */
struct gpu_launch {
  uint64_t stripes;
  uint64_t blocks;
  uint32_t stripe_count;
  uint32_t bytes;
  uint32_t block_count;
  uint32_t to_pool;
  uint32_t aligned;
  uint32_t grid;
};

/* Loads a driver, which stays for the life of the process. What the loader says of a failure goes to `said`. */
int gpu_load(const char *library, char *said, size_t room, struct driver **loaded);

int gpu_count(struct driver *driver);
int gpu_describe(struct driver *driver, int ordinal, struct gpu_facts *facts);

/* Writes an error's name and text. */
int gpu_error(struct driver *driver, int error, char *said, size_t room);

int gpu_open(struct driver *driver, int ordinal, struct gpu **opened);
int gpu_close(struct gpu *gpu);

int gpu_stream(struct gpu *gpu, bool urgent, cu_stream *made);
int gpu_end_stream(struct gpu *gpu, cu_stream stream);

int gpu_event(struct gpu *gpu, cu_event *made);
int gpu_end_event(struct gpu *gpu, cu_event event);
int gpu_record(struct gpu *gpu, cu_event event, cu_stream stream);

/* Makes a stream wait for what an event was last recorded behind. */
int gpu_follow(struct gpu *gpu, cu_stream stream, cu_event event);

/* Writes a number to pinned host memory when everything before it in a stream is complete, and can be seen by all. */
int gpu_write(struct gpu *gpu, cu_stream stream, void *address, uint32_t value);

/* Returns 1 if everything before the event's last record is complete, else 0. */
int gpu_query(struct gpu *gpu, cu_event event);

/* As gpu_query, and waits for it so long. */
int gpu_await(struct gpu *gpu, cu_event event, int64_t nanos);

/* Opens memory of another process, and states where it is and how large the allocation is. */
int gpu_open_memory(struct gpu *gpu, const struct cu_ipc_handle *handle, cu_pointer *address, uint64_t *bytes);
int gpu_close_memory(struct gpu *gpu, cu_pointer address);
int gpu_open_event(struct gpu *gpu, const struct cu_ipc_handle *handle, cu_event *opened);

/* Pins host memory, with the same address for the device. */
int gpu_pin(struct gpu *gpu, void *address, size_t bytes);
int gpu_unpin(struct gpu *gpu, void *address);

int gpu_allocate(struct gpu *gpu, size_t bytes, cu_pointer *address);
int gpu_free(struct gpu *gpu, cu_pointer address);
int gpu_allocate_host(struct gpu *gpu, size_t bytes, void **address);
int gpu_free_host(struct gpu *gpu, void *address);

/*
 * Enqueues copies in a stream, in no order among themselves. On failure some may have been enqueued. Host memory of one
 * copy lies in one pinned range. One stream does: several were no faster, and pieces of 16 KiB came in at 5 GB/s in small
 * batches that took turns on four.
 */
int gpu_copy(struct gpu *gpu, cu_stream stream, const struct gpu_copy *copies, unsigned count, bool to_device);

/* Loads an image and returns its function of that name. It stays until the GPU is closed. */
int gpu_kernel(struct gpu *gpu, const void *image, const char *name, cu_function *found);
int gpu_launch(struct gpu *gpu, cu_function kernel, cu_stream stream, const struct gpu_launch *launch);

#endif
