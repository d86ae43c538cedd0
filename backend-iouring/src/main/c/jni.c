/* The functions of Uring.java, each a call of its namesake in ring.h. */
#include <stddef.h>

#include "io_orbitkv_backend_iouring_ring_Uring.h"
#include "ring.h"

#define IN_JAVA(name) io_orbitkv_backend_iouring_ring_Uring_##name
#define NATIVE(type, name) JNIEXPORT type JNICALL Java_io_orbitkv_backend_iouring_ring_Uring_##name

_Static_assert(RING_READ == IN_JAVA(OPERATION_READ), "operation");
_Static_assert(RING_WRITE == IN_JAVA(OPERATION_WRITE), "operation");
_Static_assert(RING_SYNC == IN_JAVA(OPERATION_SYNC), "operation");

_Static_assert(sizeof(struct ring_request) == IN_JAVA(REQUEST_BYTES), "request");
_Static_assert(offsetof(struct ring_request, address) == IN_JAVA(REQUEST_ADDRESS), "request");
_Static_assert(offsetof(struct ring_request, position) == IN_JAVA(REQUEST_POSITION), "request");
_Static_assert(offsetof(struct ring_request, length) == IN_JAVA(REQUEST_LENGTH), "request");
_Static_assert(offsetof(struct ring_request, buffer) == IN_JAVA(REQUEST_BUFFER), "request");
_Static_assert(offsetof(struct ring_request, slot) == IN_JAVA(REQUEST_SLOT), "request");
_Static_assert(offsetof(struct ring_request, operation) == IN_JAVA(REQUEST_OPERATION), "request");

_Static_assert(sizeof(struct ring_completion) == IN_JAVA(COMPLETION_BYTES), "completion");
_Static_assert(offsetof(struct ring_completion, slot) == IN_JAVA(COMPLETION_SLOT), "completion");
_Static_assert(offsetof(struct ring_completion, result) == IN_JAVA(COMPLETION_RESULT), "completion");

_Static_assert(sizeof(struct iovec) == IN_JAVA(BUFFER_BYTES), "buffer");
_Static_assert(offsetof(struct iovec, iov_base) == IN_JAVA(BUFFER_ADDRESS), "buffer");
_Static_assert(offsetof(struct iovec, iov_len) == IN_JAVA(BUFFER_LENGTH), "buffer");

static struct ring *ring_at(jlong address) { return (struct ring *)(uintptr_t)address; }

NATIVE(jint, version)(JNIEnv *env, jclass type) {
  (void)env, (void)type;
  return IN_JAVA(VERSION);
}

NATIVE(jint, openFile)(JNIEnv *env, jclass type, jlong path, jboolean direct) {
  (void)env, (void)type;
  return ring_open_file((const char *)(uintptr_t)path, direct);
}

NATIVE(jint, closeFile)(JNIEnv *env, jclass type, jint file) {
  (void)env, (void)type;
  return ring_close_file(file);
}

NATIVE(jint, extendFile)(JNIEnv *env, jclass type, jlong path, jlong bytes) {
  (void)env, (void)type;
  return ring_extend_file((const char *)(uintptr_t)path, (uint64_t)bytes);
}

NATIVE(jlong, create)(JNIEnv *env, jclass type, jint file, jint depth, jboolean deferred) {
  (void)env, (void)type;
  struct ring *ring;
  int result = ring_create(file, (unsigned)depth, deferred, &ring);
  return result < 0 ? result : (jlong)(uintptr_t)ring;
}

/* `register` is a word of C; the generated name is not. */
NATIVE(jint, register)(JNIEnv *env, jclass type, jlong ring, jlong buffers, jint count) {
  (void)env, (void)type;
  return ring_register(ring_at(ring), (const struct iovec *)(uintptr_t)buffers, (unsigned)count);
}

NATIVE(jint, cycle)
(JNIEnv *env, jclass type, jlong ring, jlong requests, jint count, jboolean wait, jlong completions) {
  (void)env, (void)type;
  return ring_cycle(ring_at(ring), (const struct ring_request *)(uintptr_t)requests, (unsigned)count, wait,
                    (struct ring_completion *)(uintptr_t)completions);
}

NATIVE(jint, wake)(JNIEnv *env, jclass type, jlong ring) {
  (void)env, (void)type;
  return ring_wake(ring_at(ring));
}

NATIVE(jint, destroy)(JNIEnv *env, jclass type, jlong ring) {
  (void)env, (void)type;
  return ring_destroy(ring_at(ring));
}
