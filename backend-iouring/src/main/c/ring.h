/*
 * One file driven through one io_uring, on raw system calls.
 *
 * Every function answers zero or more on success and -errno on failure; none prints, none exits. The ring serves one
 * thread, the first that calls ring_cycle; ring_wake may be called by any.
 */
#ifndef ORBITKV_RING_H
#define ORBITKV_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

enum ring_operation { RING_READ = 0, RING_WRITE = 1, RING_SYNC = 2 };

/* As Java writes it: see Uring.java. */
struct ring_request {
  uint64_t address;
  uint64_t position;
  uint32_t length;
  int32_t buffer; /* index of the registered buffer that holds all of the memory, or -1 */
  uint32_t slot;  /* comes back in the completion */
  uint32_t operation;
};

/* As Java reads it: see Uring.java. */
struct ring_completion {
  uint32_t slot;
  int32_t result; /* bytes, or -errno */
};

struct ring;

/* Opens an existing file for reading and writing. Returns the descriptor. */
int ring_open_file(const char *path, bool direct);

int ring_close_file(int fd);

/*
 * Gives an existing file the blocks for a length, zeros wherever it had none, without writing them. -EOPNOTSUPP: the
 * file system cannot.
 */
int ring_extend_file(const char *path, uint64_t bytes);

/*
 * Sets a ring up that owns `file` from then on, for at most `depth` requests in flight. `deferred` asks for
 * SINGLE_ISSUER and DEFER_TASKRUN, which kernels before 6.1 answer with -EINVAL. -ENOTSUP: the kernel has a ring, but
 * one too old for plain reads and writes (before 5.6).
 */
int ring_create(int file, unsigned depth, bool deferred, struct ring **created);

/* Pins memory for fixed transfers. At most once, before the first ring_cycle. */
int ring_register(struct ring *ring, const struct iovec *buffers, unsigned count);

/*
 * Queues `count` requests, submits, and copies out up to `depth` completions. With `wait` it sleeps until there is one
 * or until ring_wake was called. Returns how many completions were written to `completions`, which may be none.
 */
int ring_cycle(struct ring *ring, const struct ring_request *requests, unsigned count, bool wait,
               struct ring_completion *completions);

/* Ends the wait of ring_cycle, now or the next. Not after or during ring_destroy. */
int ring_wake(struct ring *ring);

/* Releases everything. Only when all that was submitted has completed. */
int ring_destroy(struct ring *ring);

#endif
