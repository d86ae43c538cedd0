/*
 * What this library uses of the CUDA driver's interface, as the vendor documents it. Declared here so that a build needs
 * no CUDA: the driver's binary interface is stable, and a name carries its version.
 */
#ifndef ORBITKV_DRIVER_API_H
#define ORBITKV_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_pointer;
typedef void *cu_context;
typedef void *cu_stream;
typedef void *cu_event;
typedef void *cu_module;
typedef void *cu_function;

enum { CU_SUCCESS = 0, CU_ERROR_NOT_READY = 600 };

enum cu_attribute {
  CU_MULTIPROCESSORS = 16,
  CU_MAX_PITCH = 11,
  CU_COPY_ENGINES = 40,
  CU_MAJOR = 75,
  CU_MINOR = 76,
  CU_HOST_POINTERS_FOR_REGISTERED = 91
};

enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_IPC_LAZY_PEER_ACCESS = 1 };
enum { CU_HOST_PORTABLE = 1, CU_HOST_MAPPED = 2 };
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2 };

struct cu_uuid {
  uint8_t bytes[16];
};

/* For memory and for events alike. Passed by value. */
struct cu_ipc_handle {
  uint8_t bytes[64];
};

struct cu_copy_2d {
  size_t src_x, src_y;
  int src_type;
  const void *src_host;
  cu_pointer src_device;
  void *src_array;
  size_t src_pitch;
  size_t dst_x, dst_y;
  int dst_type;
  void *dst_host;
  cu_pointer dst_device;
  void *dst_array;
  size_t dst_pitch;
  size_t width, height;
};

struct cu_copy_3d {
  size_t src_x, src_y, src_z, src_lod;
  int src_type;
  const void *src_host;
  cu_pointer src_device;
  void *src_array;
  void *src_reserved;
  size_t src_pitch, src_height;
  size_t dst_x, dst_y, dst_z, dst_lod;
  int dst_type;
  void *dst_host;
  cu_pointer dst_device;
  void *dst_array;
  void *dst_reserved;
  size_t dst_pitch, dst_height;
  size_t width, height, depth;
};

struct cu_location {
  int type, id;
};

/* How a batch's copies order their sources: 1 is as everything else in the stream. */
struct cu_copy_attributes {
  int source_order;
  struct cu_location source_hint, target_hint;
  unsigned flags;
};

/* Every function, once: result, name in the table, name in the library, parameters. */
#define DRIVER_FUNCTIONS(F)                                                                                    \
  F(init, "cuInit", unsigned)                                                                                  \
  F(version, "cuDriverGetVersion", int *)                                                                      \
  F(error_name, "cuGetErrorName", cu_result, const char **)                                                    \
  F(error_text, "cuGetErrorString", cu_result, const char **)                                                  \
  F(device_count, "cuDeviceGetCount", int *)                                                                   \
  F(device_get, "cuDeviceGet", cu_device *, int)                                                               \
  F(device_name, "cuDeviceGetName", char *, int, cu_device)                                                    \
  F(device_uuid, "cuDeviceGetUuid_v2", struct cu_uuid *, cu_device)                                            \
  F(device_attribute, "cuDeviceGetAttribute", int *, int, cu_device)                                           \
  F(context_retain, "cuDevicePrimaryCtxRetain", cu_context *, cu_device)                                       \
  F(context_release, "cuDevicePrimaryCtxRelease_v2", cu_device)                                                \
  F(context_set, "cuCtxSetCurrent", cu_context)                                                                \
  F(priority_range, "cuCtxGetStreamPriorityRange", int *, int *)                                               \
  F(stream_create, "cuStreamCreateWithPriority", cu_stream *, unsigned, int)                                   \
  F(stream_destroy, "cuStreamDestroy_v2", cu_stream)                                                           \
  F(stream_wait, "cuStreamWaitEvent", cu_stream, cu_event, unsigned)                                           \
  F(stream_write, "cuStreamWriteValue32_v2", cu_stream, cu_pointer, uint32_t, unsigned)                        \
  F(event_create, "cuEventCreate", cu_event *, unsigned)                                                       \
  F(event_destroy, "cuEventDestroy_v2", cu_event)                                                              \
  F(event_record, "cuEventRecord", cu_event, cu_stream)                                                        \
  F(event_query, "cuEventQuery", cu_event)                                                                     \
  F(ipc_open_memory, "cuIpcOpenMemHandle_v2", cu_pointer *, struct cu_ipc_handle, unsigned)                    \
  F(ipc_close_memory, "cuIpcCloseMemHandle", cu_pointer)                                                       \
  F(ipc_open_event, "cuIpcOpenEventHandle", cu_event *, struct cu_ipc_handle)                                  \
  F(address_range, "cuMemGetAddressRange_v2", cu_pointer *, size_t *, cu_pointer)                              \
  F(host_register, "cuMemHostRegister_v2", void *, size_t, unsigned)                                           \
  F(host_unregister, "cuMemHostUnregister", void *)                                                            \
  F(host_pointer, "cuMemHostGetDevicePointer_v2", cu_pointer *, void *, unsigned)                              \
  F(host_allocate, "cuMemHostAlloc", void **, size_t, unsigned)                                                \
  F(host_free, "cuMemFreeHost", void *)                                                                        \
  F(allocate, "cuMemAlloc_v2", cu_pointer *, size_t)                                                           \
  F(free, "cuMemFree_v2", cu_pointer)                                                                          \
  F(copy_in, "cuMemcpyHtoDAsync_v2", cu_pointer, const void *, size_t, cu_stream)                              \
  F(copy_out, "cuMemcpyDtoHAsync_v2", void *, cu_pointer, size_t, cu_stream)                                   \
  F(copy_2d, "cuMemcpy2DAsync_v2", const struct cu_copy_2d *, cu_stream)                                       \
  F(copy_3d, "cuMemcpy3DAsync_v2", const struct cu_copy_3d *, cu_stream)                                       \
  F(module_load, "cuModuleLoadData", cu_module *, const void *)                                                \
  F(module_function, "cuModuleGetFunction", cu_function *, cu_module, const char *)                            \
  F(launch, "cuLaunchKernel", cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    cu_stream, void **, void **)

/* Of newer drivers: 13.0 has the second, 12.8 the first. */
#define OPTIONAL_FUNCTIONS(F)                                                                                  \
  F(copy_batch_v2, "cuMemcpyBatchAsync_v2", cu_pointer *, cu_pointer *, size_t *, size_t,                      \
    struct cu_copy_attributes *, size_t *, size_t, cu_stream)                                                  \
  F(copy_batch, "cuMemcpyBatchAsync", cu_pointer *, cu_pointer *, size_t *, size_t,                            \
    struct cu_copy_attributes *, size_t *, size_t, size_t *, cu_stream)

#endif
