#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

struct driver {
#define FIELD(name, symbol, ...) cu_result (*name)(__VA_ARGS__);
  DRIVER_FUNCTIONS(FIELD)
  OPTIONAL_FUNCTIONS(FIELD)
#undef FIELD
};

struct gpu {
  const struct driver *driver;
  cu_device device;
  cu_context context;
  uint64_t max_pitch;
};

/*
 * Copies of one call of the driver: few enough for the stack, and for the first to begin soon. An H200 moved pieces of 32 KiB
 * at 53.6 GB/s in calls of 256, at 51.2 in calls of 64, at 42.7 in calls of 16 and at 9.9 one by one.
 */
enum { BATCH = 256 };

enum { THREADS_A_BLOCK = 512 };

/* A transfer of a few blocks ends within this, and sleeping would double its time. */
static const int64_t SPIN_NANOS = 100000;
static const long SLEEP_NANOS = 20000;

/* The kernel may lengthen a sleep by this, and by 50 us unless told otherwise. */
static const unsigned long SLACK_NANOS = 1000;

/* ---- the driver */

int gpu_load(const char *library, char *said, size_t room, struct driver **loaded) {
  said[0] = '\0';
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    snprintf(said, room, "%s", dlerror());
    return GPU_NO_DRIVER;
  }
  struct driver *driver = calloc(1, sizeof *driver);
  if (!driver) {
    dlclose(handle);
    snprintf(said, room, "out of memory");
    return GPU_NO_DRIVER;
  }
  const char *missing = NULL;
  /* A function's address through an object pointer, as POSIX has it. */
#define FIND(name, symbol, ...) *(void **)&driver->name = dlsym(handle, symbol);
#define REQUIRE(name, symbol, ...) FIND(name, symbol) missing = missing || driver->name ? missing : symbol;
  DRIVER_FUNCTIONS(REQUIRE)
  OPTIONAL_FUNCTIONS(FIND)
#undef REQUIRE
#undef FIND
  if (missing) {
    snprintf(said, room, "it has no function %s", missing);
    free(driver);
    dlclose(handle);
    return GPU_OLD_DRIVER;
  }
  cu_result result = driver->init(0);
  if (result) {
    gpu_error(driver, result, said, room);
    free(driver);
    dlclose(handle);
    return -result;
  }
  *loaded = driver;
  return 0;
}

int gpu_error(struct driver *driver, int error, char *said, size_t room) {
  const char *name = NULL, *text = NULL;
  if (driver->error_name(error, &name) || !name) {
    name = "unknown error";
  }
  if (driver->error_text(error, &text) || !text) {
    text = "no text";
  }
  snprintf(said, room, "%s (%d): %s", name, error, text);
  return 0;
}

int gpu_count(struct driver *driver) {
  int count = 0;
  cu_result result = driver->device_count(&count);
  return result ? -result : count;
}

int gpu_describe(struct driver *driver, int ordinal, struct gpu_facts *facts) {
  cu_device device;
  memset(facts, 0, sizeof *facts);
  cu_result result = driver->device_get(&device, ordinal);
  struct {
    int attribute;
    int32_t *value;
  } wanted[] = {{CU_MAJOR, &facts->major},
                {CU_MINOR, &facts->minor},
                {CU_MULTIPROCESSORS, &facts->multiprocessors},
                {CU_COPY_ENGINES, &facts->copy_engines},
                {CU_HOST_POINTERS_FOR_REGISTERED, &facts->host_pointers}};
  for (size_t i = 0; !result && i < sizeof wanted / sizeof *wanted; i++) {
    result = driver->device_attribute(wanted[i].value, wanted[i].attribute, device);
  }
  struct cu_uuid uuid;
  if (!result && !(result = driver->version(&facts->driver_version)) &&
      !(result = driver->device_name(facts->name, sizeof facts->name - 1, device)) &&
      !(result = driver->device_uuid(&uuid, device))) {
    memcpy(facts->uuid, uuid.bytes, sizeof facts->uuid);
    facts->batches = driver->copy_batch_v2 || driver->copy_batch;
  }
  return -result;
}

/* ---- contexts, streams, events */

int gpu_open(struct driver *driver, int ordinal, struct gpu **opened) {
  struct gpu *gpu = calloc(1, sizeof *gpu);
  if (!gpu) {
    return GPU_NO_DRIVER;
  }
  gpu->driver = driver;
  int pitch = 0;
  cu_result result = driver->device_get(&gpu->device, ordinal);
  if (result || (result = driver->device_attribute(&pitch, CU_MAX_PITCH, gpu->device)) ||
      (result = driver->context_retain(&gpu->context, gpu->device))) {
    free(gpu);
    return -result;
  }
  gpu->max_pitch = (uint64_t)pitch;
  *opened = gpu;
  return 0;
}

int gpu_close(struct gpu *gpu) {
  cu_result result = gpu->driver->context_release(gpu->device);
  free(gpu);
  return -result;
}

/* The driver keeps a context for each thread, and these calls come from many. */
#define IN_CONTEXT(gpu)                                              \
  do {                                                               \
    cu_result entered = (gpu)->driver->context_set((gpu)->context);  \
    if (entered) {                                                   \
      return -entered;                                               \
    }                                                                \
  } while (0)

int gpu_stream(struct gpu *gpu, bool urgent, cu_stream *made) {
  IN_CONTEXT(gpu);
  int least, greatest;
  cu_result result = gpu->driver->priority_range(&least, &greatest);
  return result ? -result : -gpu->driver->stream_create(made, CU_STREAM_NON_BLOCKING, urgent ? greatest : least);
}

int gpu_end_stream(struct gpu *gpu, cu_stream stream) {
  IN_CONTEXT(gpu);
  return -gpu->driver->stream_destroy(stream);
}

int gpu_event(struct gpu *gpu, cu_event *made) {
  IN_CONTEXT(gpu);
  return -gpu->driver->event_create(made, CU_EVENT_DISABLE_TIMING);
}

int gpu_end_event(struct gpu *gpu, cu_event event) {
  IN_CONTEXT(gpu);
  return -gpu->driver->event_destroy(event);
}

int gpu_record(struct gpu *gpu, cu_event event, cu_stream stream) {
  IN_CONTEXT(gpu);
  return -gpu->driver->event_record(event, stream);
}

int gpu_follow(struct gpu *gpu, cu_stream stream, cu_event event) {
  IN_CONTEXT(gpu);
  return -gpu->driver->stream_wait(stream, event, 0);
}

int gpu_write(struct gpu *gpu, cu_stream stream, void *address, uint32_t value) {
  IN_CONTEXT(gpu);
  return -gpu->driver->stream_write(stream, (cu_pointer)(uintptr_t)address, value, 0);
}

static int query(const struct gpu *gpu, cu_event event) {
  cu_result result = gpu->driver->event_query(event);
  return result == CU_SUCCESS ? 1 : result == CU_ERROR_NOT_READY ? 0 : -result;
}

int gpu_query(struct gpu *gpu, cu_event event) {
  IN_CONTEXT(gpu);
  return query(gpu, event);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* The driver's own wait has no limit, and an event of a process that was killed may never come. */
int gpu_await(struct gpu *gpu, cu_event event, int64_t nanos) {
  IN_CONTEXT(gpu);
  int64_t start = now();
  bool slept = false;
  while (true) {
    int result = query(gpu, event);
    int64_t waited = now() - start;
    if (result || waited >= nanos) {
      return result;
    }
    if (waited >= SPIN_NANOS) {
      if (!slept) {
        prctl(PR_SET_TIMERSLACK, SLACK_NANOS, 0, 0, 0);
        slept = true;
      }
      nanosleep(&(struct timespec){.tv_nsec = SLEEP_NANOS}, NULL);
    }
  }
}

/* ---- memory */

int gpu_open_memory(struct gpu *gpu, const struct cu_ipc_handle *handle, cu_pointer *address, uint64_t *bytes) {
  IN_CONTEXT(gpu);
  cu_result result = gpu->driver->ipc_open_memory(address, *handle, CU_IPC_LAZY_PEER_ACCESS);
  if (result) {
    return -result;
  }
  cu_pointer base;
  size_t size;
  result = gpu->driver->address_range(&base, &size, *address);
  if (result) {
    gpu->driver->ipc_close_memory(*address);
    return -result;
  }
  *bytes = size;
  return 0;
}

int gpu_close_memory(struct gpu *gpu, cu_pointer address) {
  IN_CONTEXT(gpu);
  return -gpu->driver->ipc_close_memory(address);
}

int gpu_open_event(struct gpu *gpu, const struct cu_ipc_handle *handle, cu_event *opened) {
  IN_CONTEXT(gpu);
  return -gpu->driver->ipc_open_event(opened, *handle);
}

int gpu_pin(struct gpu *gpu, void *address, size_t bytes) {
  IN_CONTEXT(gpu);
  return -gpu->driver->host_register(address, bytes, CU_HOST_PORTABLE | CU_HOST_MAPPED);
}

int gpu_unpin(struct gpu *gpu, void *address) {
  IN_CONTEXT(gpu);
  return -gpu->driver->host_unregister(address);
}

int gpu_allocate(struct gpu *gpu, size_t bytes, cu_pointer *address) {
  IN_CONTEXT(gpu);
  return -gpu->driver->allocate(address, bytes);
}

int gpu_free(struct gpu *gpu, cu_pointer address) {
  IN_CONTEXT(gpu);
  return -gpu->driver->free(address);
}

int gpu_allocate_host(struct gpu *gpu, size_t bytes, void **address) {
  IN_CONTEXT(gpu);
  return -gpu->driver->host_allocate(address, bytes, CU_HOST_PORTABLE | CU_HOST_MAPPED);
}

int gpu_free_host(struct gpu *gpu, void *address) {
  IN_CONTEXT(gpu);
  return -gpu->driver->host_free(address);
}

/* ---- copies */

static cu_result copy_rows(const struct gpu *gpu, cu_stream stream, const struct gpu_copy *copy, bool to_device) {
  struct cu_copy_2d rows = {.width = copy->row_bytes, .height = copy->rows};
  if (to_device) {
    rows.src_type = CU_MEMORY_HOST, rows.src_host = (void *)copy->host, rows.src_pitch = copy->host_pitch;
    rows.dst_type = CU_MEMORY_DEVICE, rows.dst_device = copy->device, rows.dst_pitch = copy->pitch;
  } else {
    rows.src_type = CU_MEMORY_DEVICE, rows.src_device = copy->device, rows.src_pitch = copy->pitch;
    rows.dst_type = CU_MEMORY_HOST, rows.dst_host = (void *)copy->host, rows.dst_pitch = copy->host_pitch;
  }
  return gpu->driver->copy_2d(&rows, stream);
}

/* A pitch beyond the limit, as a slice of several rows: `split` rows of which one is copied. */
static cu_result copy_slices(const struct gpu *gpu, cu_stream stream, const struct gpu_copy *copy, size_t split,
                             bool to_device) {
  struct cu_copy_3d slices = {.width = copy->row_bytes, .height = 1, .depth = copy->rows};
  if (to_device) {
    slices.src_type = CU_MEMORY_HOST, slices.src_host = (void *)copy->host;
    slices.src_pitch = copy->host_pitch, slices.src_height = 1;
    slices.dst_type = CU_MEMORY_DEVICE, slices.dst_device = copy->device;
    slices.dst_pitch = copy->pitch / split, slices.dst_height = split;
  } else {
    slices.src_type = CU_MEMORY_DEVICE, slices.src_device = copy->device;
    slices.src_pitch = copy->pitch / split, slices.src_height = split;
    slices.dst_type = CU_MEMORY_HOST, slices.dst_host = (void *)copy->host;
    slices.dst_pitch = copy->host_pitch, slices.dst_height = 1;
  }
  return gpu->driver->copy_3d(&slices, stream);
}

/* Returns into how many rows a pitch has to be split, or 0 if it cannot be. */
static size_t split_of(const struct gpu *gpu, const struct gpu_copy *copy) {
  size_t split = 1;
  while (copy->pitch / split > gpu->max_pitch) {
    split *= 2;
  }
  return copy->pitch % split == 0 && copy->pitch / split >= copy->row_bytes ? split : 0;
}

struct batch {
  const struct gpu *gpu;
  cu_stream stream;
  bool to_device;
  size_t count;
  cu_pointer device[BATCH], host[BATCH];
  size_t bytes[BATCH];
};

static cu_result submit(struct batch *batch) {
  const struct driver *driver = batch->gpu->driver;
  size_t count = batch->count;
  batch->count = 0;
  cu_result result = CU_SUCCESS;
  if (count > 1 && (driver->copy_batch_v2 || driver->copy_batch)) {
    struct cu_copy_attributes attributes = {.source_order = 1};
    size_t first = 0, failed;
    cu_pointer *targets = batch->to_device ? batch->device : batch->host;
    cu_pointer *sources = batch->to_device ? batch->host : batch->device;
    return driver->copy_batch_v2
               ? driver->copy_batch_v2(targets, sources, batch->bytes, count, &attributes, &first, 1, batch->stream)
               : driver->copy_batch(targets, sources, batch->bytes, count, &attributes, &first, 1, &failed,
                                    batch->stream);
  }
  for (size_t i = 0; !result && i < count; i++) {
    result = batch->to_device
                 ? driver->copy_in(batch->device[i], (void *)batch->host[i], batch->bytes[i], batch->stream)
                 : driver->copy_out((void *)batch->host[i], batch->device[i], batch->bytes[i], batch->stream);
  }
  return result;
}

static cu_result add(struct batch *batch, cu_pointer device, cu_pointer host, size_t bytes) {
  batch->device[batch->count] = device;
  batch->host[batch->count] = host;
  batch->bytes[batch->count++] = bytes;
  return batch->count == BATCH ? submit(batch) : CU_SUCCESS;
}

static cu_result copy_strided(struct batch *batch, const struct gpu_copy *copy) {
  size_t split = split_of(batch->gpu, copy);
  if (split == 1) {
    return copy_rows(batch->gpu, batch->stream, copy, batch->to_device);
  }
  if (split) {
    return copy_slices(batch->gpu, batch->stream, copy, split, batch->to_device);
  }
  cu_result result = CU_SUCCESS;
  for (uint32_t row = 0; !result && row < copy->rows; row++) {
    result = add(batch, copy->device + row * copy->pitch, copy->host + row * copy->host_pitch, copy->row_bytes);
  }
  return result;
}

int gpu_copy(struct gpu *gpu, cu_stream stream, const struct gpu_copy *copies, unsigned count, bool to_device) {
  IN_CONTEXT(gpu);
  struct batch batch;
  batch.gpu = gpu, batch.stream = stream, batch.to_device = to_device, batch.count = 0;
  cu_result result = CU_SUCCESS;
  for (unsigned i = 0; !result && i < count; i++) {
    const struct gpu_copy *copy = &copies[i];
    result = copy->rows > 1 ? copy_strided(&batch, copy) : add(&batch, copy->device, copy->host, copy->row_bytes);
  }
  if (!result && batch.count) {
    result = submit(&batch);
  }
  return -result;
}

/* ---- the kernel */

int gpu_kernel(struct gpu *gpu, const void *image, const char *name, cu_function *found) {
  IN_CONTEXT(gpu);
  cu_module module;
  cu_result result = gpu->driver->module_load(&module, image);
  return result ? -result : -gpu->driver->module_function(found, module, name);
}

int gpu_launch(struct gpu *gpu, cu_function kernel, cu_stream stream, const struct gpu_launch *launch) {
  IN_CONTEXT(gpu);
  struct gpu_launch values = *launch;
  void *arguments[] = {&values.stripes,     &values.stripe_count, &values.bytes,  &values.blocks,
                       &values.block_count, &values.to_pool,      &values.aligned};
  return -gpu->driver->launch(kernel, values.grid, 1, 1, THREADS_A_BLOCK, 1, 1, 0, stream, arguments, NULL);
}
