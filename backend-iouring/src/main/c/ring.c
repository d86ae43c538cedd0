#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of some systems that this still builds on; numbers are the kernel's ABI. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#endif

/* RW_CUR_POS marks 5.6, the first kernel with IORING_OP_READ and IORING_OP_WRITE. */
#define NEEDED_FEATURES (IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_RW_CUR_POS)

/* user_data of the poll on the eventfd; slots are 32 bits. */
#define WAKE_USER_DATA UINT64_MAX

enum { FILE_DATA = 0, FILE_EVENT = 1 };

struct ring {
  int ring_fd;
  int data_fd;
  int event_fd;
  unsigned depth;
  bool enabled;
  bool wake_armed; /* a poll on the eventfd is in flight */
  bool registered; /* there are fixed buffers */

  void *rings;
  size_t rings_bytes;
  struct io_uring_sqe *sqes;
  size_t sqes_bytes;

  unsigned *sq_head; /* written by the kernel */
  unsigned *sq_tail;
  unsigned sq_mask;
  unsigned sq_entries;

  unsigned *cq_head;
  unsigned *cq_tail; /* written by the kernel */
  unsigned cq_mask;
  struct io_uring_cqe *cqes;
};

static int answer(long rc) { return rc < 0 ? -errno : (int)rc; }

static int uring_setup(unsigned entries, struct io_uring_params *params) {
  return answer(syscall(__NR_io_uring_setup, entries, params));
}

static int uring_enter(int fd, unsigned submit, unsigned wait_for) {
  return answer(syscall(__NR_io_uring_enter, fd, submit, wait_for, IORING_ENTER_GETEVENTS, NULL, 0));
}

static int uring_register(int fd, unsigned operation, const void *argument, unsigned count) {
  return answer(syscall(__NR_io_uring_register, fd, operation, argument, count));
}

static int first_failure(int earlier, int now) { return earlier < 0 ? earlier : now; }

int ring_open_file(const char *path, bool direct) {
  return answer(open(path, O_RDWR | O_CLOEXEC | (direct ? O_DIRECT : 0)));
}

int ring_close_file(int fd) { return answer(close(fd)); }

int ring_extend_file(const char *path, uint64_t bytes) {
  int fd = answer(open(path, O_RDWR | O_CLOEXEC));
  if (fd < 0) {
    return fd;
  }
  int result;
  do {
    result = answer(fallocate(fd, 0, 0, (off_t)bytes));
  } while (result == -EINTR);
  return first_failure(result, ring_close_file(fd));
}

static int map_rings(struct ring *ring, const struct io_uring_params *params) {
  size_t sq_bytes = params->sq_off.array + params->sq_entries * sizeof(unsigned);
  size_t cq_bytes = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
  size_t rings_bytes = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
  size_t sqes_bytes = params->sq_entries * sizeof(struct io_uring_sqe);

  void *rings = mmap(NULL, rings_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->ring_fd,
                     IORING_OFF_SQ_RING);
  if (rings == MAP_FAILED) {
    return -errno;
  }
  ring->rings = rings;
  ring->rings_bytes = rings_bytes;

  void *sqes = mmap(NULL, sqes_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->ring_fd,
                    IORING_OFF_SQES);
  if (sqes == MAP_FAILED) {
    return -errno;
  }
  ring->sqes = sqes;
  ring->sqes_bytes = sqes_bytes;

  char *base = rings;
  ring->sq_head = (unsigned *)(base + params->sq_off.head);
  ring->sq_tail = (unsigned *)(base + params->sq_off.tail);
  ring->sq_mask = *(unsigned *)(base + params->sq_off.ring_mask);
  ring->sq_entries = params->sq_entries;
  ring->cq_head = (unsigned *)(base + params->cq_off.head);
  ring->cq_tail = (unsigned *)(base + params->cq_off.tail);
  ring->cq_mask = *(unsigned *)(base + params->cq_off.ring_mask);
  ring->cqes = (struct io_uring_cqe *)(base + params->cq_off.cqes);

  /* Entries are filled in ring order, so the indirection that the kernel offers stays the identity. */
  unsigned *sq_array = (unsigned *)(base + params->sq_off.array);
  for (unsigned i = 0; i < params->sq_entries; i++) {
    sq_array[i] = i;
  }
  return 0;
}

int ring_create(int file, unsigned depth, bool deferred, struct ring **created) {
  struct io_uring_params params;
  memset(&params, 0, sizeof params);
  if (deferred) {
    /* Disabled at first: the thread that enables it, not the one that opens it, becomes its single issuer. */
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED;
  }
  struct ring *ring = calloc(1, sizeof *ring);
  if (ring == NULL) {
    return -ENOMEM;
  }
  ring->data_fd = -1; /* the caller's until all has gone well */
  ring->event_fd = -1;
  ring->depth = depth;
  ring->enabled = !deferred;

  /* One entry more than requests, for the poll on the eventfd. The completion ring is twice as large: no overflow. */
  int result = uring_setup(depth + 1, &params);
  ring->ring_fd = result;
  if (result >= 0 && (params.features & NEEDED_FEATURES) != NEEDED_FEATURES) {
    result = -ENOTSUP;
  }
  if (result >= 0) {
    result = map_rings(ring, &params);
  }
  if (result >= 0) {
    result = answer(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ring->event_fd = result;
  }
  if (result >= 0) {
    const int files[] = {[FILE_DATA] = file, [FILE_EVENT] = ring->event_fd};
    result = uring_register(ring->ring_fd, IORING_REGISTER_FILES, files, 2);
  }
  if (result < 0) {
    ring_destroy(ring); /* its own outcome says less than the one at hand */
    return result;
  }
  ring->data_fd = file;
  *created = ring;
  return 0;
}

int ring_register(struct ring *ring, const struct iovec *buffers, unsigned count) {
  int result = uring_register(ring->ring_fd, IORING_REGISTER_BUFFERS, buffers, count);
  ring->registered = result >= 0;
  return result;
}

static void fill(struct io_uring_sqe *sqe, const struct ring_request *request) {
  memset(sqe, 0, sizeof *sqe);
  sqe->fd = FILE_DATA;
  sqe->flags = IOSQE_FIXED_FILE;
  sqe->user_data = request->slot;
  if (request->operation == RING_SYNC) {
    sqe->opcode = IORING_OP_FSYNC;
    sqe->fsync_flags = IORING_FSYNC_DATASYNC;
    return;
  }
  bool fixed = request->buffer >= 0;
  if (request->operation == RING_READ) {
    sqe->opcode = fixed ? IORING_OP_READ_FIXED : IORING_OP_READ;
  } else {
    sqe->opcode = fixed ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE;
  }
  sqe->addr = request->address;
  sqe->len = request->length;
  sqe->off = request->position;
  sqe->buf_index = fixed ? (uint16_t)request->buffer : 0;
}

/*
 * A poll, not a read: the kernel then has nothing to write to, so the ring may be closed while it is in flight.
 */
static void fill_wake(struct io_uring_sqe *sqe) {
  memset(sqe, 0, sizeof *sqe);
  sqe->opcode = IORING_OP_POLL_ADD;
  sqe->fd = FILE_EVENT;
  sqe->flags = IOSQE_FIXED_FILE;
  sqe->poll32_events = POLLIN;
  sqe->user_data = WAKE_USER_DATA;
}

static int queue(struct ring *ring, const struct ring_request *requests, unsigned count, bool arm) {
  unsigned tail = *ring->sq_tail;
  unsigned used = tail - __atomic_load_n(ring->sq_head, __ATOMIC_ACQUIRE);
  if (count + arm > ring->sq_entries - used) {
    return -EOVERFLOW;
  }
  for (unsigned i = 0; i < count; i++) {
    fill(&ring->sqes[tail++ & ring->sq_mask], &requests[i]);
  }
  if (arm) {
    fill_wake(&ring->sqes[tail++ & ring->sq_mask]);
    ring->wake_armed = true;
  }
  __atomic_store_n(ring->sq_tail, tail, __ATOMIC_RELEASE);
  return 0;
}

static bool any_ready(const struct ring *ring) {
  return __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) != *ring->cq_head;
}

/*
 * The most entries of one system call. From three on the kernel plugs the block layer and merges neighbours: appends in
 * a row would become requests of several MiB, which devices serve more slowly than as many small ones.
 */
#define UNMERGED_ENTRIES 2

static int submit_and_wait(struct ring *ring, bool wait) {
  for (;;) {
    unsigned unsubmitted = *ring->sq_tail - __atomic_load_n(ring->sq_head, __ATOMIC_ACQUIRE);
    unsigned part = unsubmitted < UNMERGED_ENTRIES ? unsubmitted : UNMERGED_ENTRIES;
    bool last = part == unsubmitted;
    bool sleep = last && wait && !any_ready(ring);
    int result = uring_enter(ring->ring_fd, part, sleep ? 1 : 0);
    if (result == -EINTR) {
      continue;
    }
    if (result == -EAGAIN || result == -EBUSY) {
      /* The kernel is short of memory, and has slept for some already. Collect what is done, which may free some; the
         entries stay for the next cycle. */
      return uring_enter(ring->ring_fd, 0, 0);
    }
    if (result < 0) {
      return result;
    }
    /* A submission cut short did not wait: the entry it stopped at has a completion, the others are still here. */
    if (last && (unsigned)result == part && (!wait || any_ready(ring))) {
      return 0;
    }
  }
}

static int reset_event(const struct ring *ring) {
  uint64_t wakes;
  ssize_t got = read(ring->event_fd, &wakes, sizeof wakes);
  return got < 0 && errno != EAGAIN ? -errno : 0;
}

static int reap(struct ring *ring, struct ring_completion *completions) {
  unsigned head = *ring->cq_head;
  unsigned tail = __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE);
  unsigned count = 0;
  bool woken = false;
  while (head != tail && count < ring->depth) {
    const struct io_uring_cqe *cqe = &ring->cqes[head++ & ring->cq_mask];
    if (cqe->user_data == WAKE_USER_DATA) {
      woken = true;
    } else {
      completions[count++] = (struct ring_completion){.slot = (uint32_t)cqe->user_data, .result = cqe->res};
    }
  }
  __atomic_store_n(ring->cq_head, head, __ATOMIC_RELEASE);
  if (woken) {
    ring->wake_armed = false;
    int result = reset_event(ring);
    if (result < 0 && count == 0) {
      return result;
    }
  }
  return (int)count;
}

int ring_cycle(struct ring *ring, const struct ring_request *requests, unsigned count, bool wait,
               struct ring_completion *completions) {
  if (!ring->enabled) {
    int result = uring_register(ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
    if (result < 0) {
      return result;
    }
    ring->enabled = true;
  }
  int result = queue(ring, requests, count, wait && !ring->wake_armed);
  if (result >= 0) {
    result = submit_and_wait(ring, wait);
  }
  return result < 0 ? result : reap(ring, completions);
}

int ring_wake(struct ring *ring) {
  const uint64_t one = 1;
  ssize_t put = write(ring->event_fd, &one, sizeof one);
  return put < 0 && errno != EAGAIN ? -errno : 0; /* EAGAIN: full of wakes that nobody has read yet */
}

int ring_destroy(struct ring *ring) {
  int result = 0;
  if (ring->registered) {
    /* Unpins now: the kernel's own end of a ring comes later, and a new one may need the same locked memory at once.
       Another thread than the issuer is answered EEXIST and leaves it to that. */
    int unpinned = uring_register(ring->ring_fd, IORING_UNREGISTER_BUFFERS, NULL, 0);
    result = unpinned == -EEXIST ? 0 : unpinned;
  }
  if (ring->sqes != NULL) {
    result = first_failure(result, answer(munmap(ring->sqes, ring->sqes_bytes)));
  }
  if (ring->rings != NULL) {
    result = first_failure(result, answer(munmap(ring->rings, ring->rings_bytes)));
  }
  const int descriptors[] = {ring->ring_fd, ring->event_fd, ring->data_fd};
  for (unsigned i = 0; i < sizeof descriptors / sizeof *descriptors; i++) {
    if (descriptors[i] >= 0) {
      result = first_failure(result, answer(close(descriptors[i])));
    }
  }
  free(ring);
  return result;
}
