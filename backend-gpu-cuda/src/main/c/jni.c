/* The functions of Cuda.java, each a call of its namesake in gpu.h. */
#include <stddef.h>

#include "gpu.h"
#include "io_orbitkv_backend_gpu_cuda_driver_Cuda.h"

#define IN_JAVA(name) io_orbitkv_backend_gpu_cuda_driver_Cuda_##name
#define NATIVE(type, name) JNIEXPORT type JNICALL Java_io_orbitkv_backend_gpu_cuda_driver_Cuda_##name

_Static_assert(GPU_NO_DRIVER == IN_JAVA(NO_DRIVER), "error");
_Static_assert(GPU_OLD_DRIVER == IN_JAVA(OLD_DRIVER), "error");

_Static_assert(sizeof(struct gpu_facts) == IN_JAVA(FACTS_BYTES), "facts");
_Static_assert(offsetof(struct gpu_facts, driver_version) == IN_JAVA(FACTS_DRIVER_VERSION), "facts");
_Static_assert(offsetof(struct gpu_facts, major) == IN_JAVA(FACTS_MAJOR), "facts");
_Static_assert(offsetof(struct gpu_facts, minor) == IN_JAVA(FACTS_MINOR), "facts");
_Static_assert(offsetof(struct gpu_facts, multiprocessors) == IN_JAVA(FACTS_MULTIPROCESSORS), "facts");
_Static_assert(offsetof(struct gpu_facts, copy_engines) == IN_JAVA(FACTS_COPY_ENGINES), "facts");
_Static_assert(offsetof(struct gpu_facts, host_pointers) == IN_JAVA(FACTS_HOST_POINTERS), "facts");
_Static_assert(offsetof(struct gpu_facts, batches) == IN_JAVA(FACTS_BATCHES), "facts");
_Static_assert(offsetof(struct gpu_facts, uuid) == IN_JAVA(FACTS_UUID), "facts");
_Static_assert(offsetof(struct gpu_facts, name) == IN_JAVA(FACTS_NAME), "facts");

_Static_assert(sizeof(struct gpu_copy) == IN_JAVA(COPY_BYTES), "copy");
_Static_assert(offsetof(struct gpu_copy, device) == IN_JAVA(COPY_DEVICE), "copy");
_Static_assert(offsetof(struct gpu_copy, host) == IN_JAVA(COPY_HOST), "copy");
_Static_assert(offsetof(struct gpu_copy, pitch) == IN_JAVA(COPY_PITCH), "copy");
_Static_assert(offsetof(struct gpu_copy, host_pitch) == IN_JAVA(COPY_HOST_PITCH), "copy");
_Static_assert(offsetof(struct gpu_copy, row_bytes) == IN_JAVA(COPY_ROW_BYTES), "copy");
_Static_assert(offsetof(struct gpu_copy, rows) == IN_JAVA(COPY_ROWS), "copy");

_Static_assert(sizeof(struct gpu_launch) == IN_JAVA(LAUNCH_BYTES), "launch");
_Static_assert(offsetof(struct gpu_launch, stripes) == IN_JAVA(LAUNCH_STRIPES), "launch");
_Static_assert(offsetof(struct gpu_launch, blocks) == IN_JAVA(LAUNCH_BLOCKS), "launch");
_Static_assert(offsetof(struct gpu_launch, stripe_count) == IN_JAVA(LAUNCH_STRIPE_COUNT), "launch");
_Static_assert(offsetof(struct gpu_launch, bytes) == IN_JAVA(LAUNCH_PIECE_BYTES), "launch");
_Static_assert(offsetof(struct gpu_launch, block_count) == IN_JAVA(LAUNCH_BLOCK_COUNT), "launch");
_Static_assert(offsetof(struct gpu_launch, to_pool) == IN_JAVA(LAUNCH_TO_POOL), "launch");
_Static_assert(offsetof(struct gpu_launch, aligned) == IN_JAVA(LAUNCH_ALIGNED), "launch");
_Static_assert(offsetof(struct gpu_launch, grid) == IN_JAVA(LAUNCH_GRID), "launch");

_Static_assert(sizeof(struct cu_ipc_handle) == IN_JAVA(HANDLE_BYTES), "handle");

static void *at(jlong address) { return (void *)(uintptr_t)address; }

/* An address that was made, or an error: no address of a process or a device is negative. */
static jlong made(int result, const void *address) { return result < 0 ? result : (jlong)(uintptr_t)address; }

NATIVE(jint, version)(JNIEnv *env, jclass type) {
  (void)env, (void)type;
  return IN_JAVA(VERSION);
}

NATIVE(jlong, load)(JNIEnv *env, jclass type, jlong library, jlong said, jint room) {
  (void)env, (void)type;
  struct driver *driver = NULL;
  int result = gpu_load(at(library), at(said), (size_t)room, &driver);
  return made(result, driver);
}

NATIVE(jint, count)(JNIEnv *env, jclass type, jlong driver) {
  (void)env, (void)type;
  return gpu_count(at(driver));
}

NATIVE(jint, describe)(JNIEnv *env, jclass type, jlong driver, jint ordinal, jlong facts) {
  (void)env, (void)type;
  return gpu_describe(at(driver), ordinal, at(facts));
}

NATIVE(jint, error)(JNIEnv *env, jclass type, jlong driver, jint error, jlong said, jint room) {
  (void)env, (void)type;
  return gpu_error(at(driver), error, at(said), (size_t)room);
}

NATIVE(jlong, open)(JNIEnv *env, jclass type, jlong driver, jint ordinal) {
  (void)env, (void)type;
  struct gpu *gpu = NULL;
  int result = gpu_open(at(driver), ordinal, &gpu);
  return made(result, gpu);
}

NATIVE(jint, close)(JNIEnv *env, jclass type, jlong gpu) {
  (void)env, (void)type;
  return gpu_close(at(gpu));
}

NATIVE(jlong, stream)(JNIEnv *env, jclass type, jlong gpu, jboolean urgent) {
  (void)env, (void)type;
  cu_stream stream = NULL;
  int result = gpu_stream(at(gpu), urgent, &stream);
  return made(result, stream);
}

NATIVE(jint, endStream)(JNIEnv *env, jclass type, jlong gpu, jlong stream) {
  (void)env, (void)type;
  return gpu_end_stream(at(gpu), at(stream));
}

NATIVE(jlong, event)(JNIEnv *env, jclass type, jlong gpu) {
  (void)env, (void)type;
  cu_event event = NULL;
  int result = gpu_event(at(gpu), &event);
  return made(result, event);
}

NATIVE(jint, endEvent)(JNIEnv *env, jclass type, jlong gpu, jlong event) {
  (void)env, (void)type;
  return gpu_end_event(at(gpu), at(event));
}

NATIVE(jint, record)(JNIEnv *env, jclass type, jlong gpu, jlong event, jlong stream) {
  (void)env, (void)type;
  return gpu_record(at(gpu), at(event), at(stream));
}

NATIVE(jint, follow)(JNIEnv *env, jclass type, jlong gpu, jlong stream, jlong event) {
  (void)env, (void)type;
  return gpu_follow(at(gpu), at(stream), at(event));
}

NATIVE(jint, write)(JNIEnv *env, jclass type, jlong gpu, jlong stream, jlong address, jint value) {
  (void)env, (void)type;
  return gpu_write(at(gpu), at(stream), at(address), (uint32_t)value);
}

NATIVE(jint, query)(JNIEnv *env, jclass type, jlong gpu, jlong event) {
  (void)env, (void)type;
  return gpu_query(at(gpu), at(event));
}

NATIVE(jint, await)(JNIEnv *env, jclass type, jlong gpu, jlong event, jlong nanos) {
  (void)env, (void)type;
  return gpu_await(at(gpu), at(event), nanos);
}

NATIVE(jint, openMemory)(JNIEnv *env, jclass type, jlong gpu, jlong handle, jlong opened) {
  (void)env, (void)type;
  uint64_t *range = at(opened);
  return gpu_open_memory(at(gpu), at(handle), &range[0], &range[1]);
}

NATIVE(jint, closeMemory)(JNIEnv *env, jclass type, jlong gpu, jlong address) {
  (void)env, (void)type;
  return gpu_close_memory(at(gpu), (cu_pointer)address);
}

NATIVE(jlong, openEvent)(JNIEnv *env, jclass type, jlong gpu, jlong handle) {
  (void)env, (void)type;
  cu_event event = NULL;
  int result = gpu_open_event(at(gpu), at(handle), &event);
  return made(result, event);
}

NATIVE(jint, pin)(JNIEnv *env, jclass type, jlong gpu, jlong address, jlong bytes) {
  (void)env, (void)type;
  return gpu_pin(at(gpu), at(address), (size_t)bytes);
}

NATIVE(jint, unpin)(JNIEnv *env, jclass type, jlong gpu, jlong address) {
  (void)env, (void)type;
  return gpu_unpin(at(gpu), at(address));
}

NATIVE(jlong, allocate)(JNIEnv *env, jclass type, jlong gpu, jlong bytes) {
  (void)env, (void)type;
  cu_pointer address = 0;
  int result = gpu_allocate(at(gpu), (size_t)bytes, &address);
  return result < 0 ? result : (jlong)address;
}

NATIVE(jint, free)(JNIEnv *env, jclass type, jlong gpu, jlong address) {
  (void)env, (void)type;
  return gpu_free(at(gpu), (cu_pointer)address);
}

NATIVE(jlong, allocateHost)(JNIEnv *env, jclass type, jlong gpu, jlong bytes) {
  (void)env, (void)type;
  void *address = NULL;
  int result = gpu_allocate_host(at(gpu), (size_t)bytes, &address);
  return made(result, address);
}

NATIVE(jint, freeHost)(JNIEnv *env, jclass type, jlong gpu, jlong address) {
  (void)env, (void)type;
  return gpu_free_host(at(gpu), at(address));
}

NATIVE(jint, copy)
(JNIEnv *env, jclass type, jlong gpu, jlong stream, jlong copies, jint count, jboolean to_device) {
  (void)env, (void)type;
  return gpu_copy(at(gpu), at(stream), at(copies), (unsigned)count, to_device);
}

NATIVE(jlong, kernel)(JNIEnv *env, jclass type, jlong gpu, jlong image, jlong name) {
  (void)env, (void)type;
  cu_function kernel = NULL;
  int result = gpu_kernel(at(gpu), at(image), at(name), &kernel);
  return made(result, kernel);
}

NATIVE(jint, launch)(JNIEnv *env, jclass type, jlong gpu, jlong kernel, jlong stream, jlong launch) {
  (void)env, (void)type;
  return gpu_launch(at(gpu), at(kernel), at(stream), at(launch));
}
