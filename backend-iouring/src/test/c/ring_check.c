/*
 * Exercises ring.c without Java, so that sanitizers see all of it. Argument: a folder for its file. Ends with 0 if all
 * is well, and at the first surprise with 1 and the line of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"

#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "%s:%d: expected %s, errno %d\n", __FILE__, __LINE__, #condition, errno); \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

enum { BLOCK = 16384, BLOCKS = 64, DEPTH = 8, ROUNDS = 400, WAKES = 2000 };

static char path[4096];
static bool direct = true;

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  EXPECT(folder != NULL);
  int count = 0;
  while (readdir(folder) != NULL) {
    count++;
  }
  closedir(folder);
  return count;
}

static void *aligned(size_t bytes) {
  void *memory = aligned_alloc(4096, bytes);
  EXPECT(memory != NULL);
  memset(memory, 0, bytes);
  return memory;
}

static struct ring *open_ring(bool deferred) {
  int file = ring_open_file(path, direct);
  EXPECT(file >= 0);
  struct ring *ring;
  EXPECT(ring_create(file, DEPTH, deferred, &ring) == 0);
  return ring;
}

static struct ring_request transfer(unsigned operation, void *memory, uint64_t position, uint32_t slot, int buffer) {
  return (struct ring_request){.operation = operation,
                               .address = (uint64_t)(uintptr_t)memory,
                               .position = position,
                               .length = BLOCK,
                               .buffer = buffer,
                               .slot = slot};
}

static void complete(struct ring *ring, const struct ring_request *requests, unsigned count, int expected) {
  struct ring_completion completions[DEPTH];
  unsigned seen = 0;
  int got = ring_cycle(ring, requests, count, true, completions);
  for (;;) {
    EXPECT(got >= 0);
    for (int i = 0; i < got; i++) {
      EXPECT(completions[i].slot < count && (seen & 1U << completions[i].slot) == 0);
      EXPECT(completions[i].result == expected);
      seen |= 1U << completions[i].slot;
    }
    if (seen == (1U << count) - 1) {
      return;
    }
    got = ring_cycle(ring, NULL, 0, true, completions);
  }
}

/* Writes random blocks and reads each back, part of them in registered memory. */
static void round_trips(struct ring *ring, char *memory, unsigned registered) {
  struct ring_request requests[DEPTH];
  unsigned seed = 42;
  for (unsigned round = 0; round < ROUNDS; round++) {
    unsigned first = (unsigned)rand_r(&seed) % BLOCKS;
    unsigned count = 1 + round % DEPTH;
    for (unsigned i = 0; i < count; i++) {
      char *block = memory + i * BLOCK;
      memset(block, (int)(round + i), BLOCK);
      requests[i] = transfer(RING_WRITE, block, (uint64_t)((first + i) % BLOCKS) * BLOCK, i, i < registered ? 0 : -1);
    }
    complete(ring, requests, count, BLOCK);
    for (unsigned i = 0; i < count; i++) {
      memset(memory + i * BLOCK, 0xff, BLOCK);
      requests[i].operation = RING_READ;
    }
    complete(ring, requests, count, BLOCK);
    for (unsigned i = 0; i < count * BLOCK; i++) {
      EXPECT(memory[i] == (char)(round + i / BLOCK));
    }
  }
  struct ring_request sync = {.operation = RING_SYNC, .slot = 0};
  complete(ring, &sync, 1, 0);
}

static void ends_and_errors(struct ring *ring, char *memory) {
  struct ring_request past_end = transfer(RING_READ, memory, (uint64_t)BLOCKS * BLOCK, 0, -1);
  complete(ring, &past_end, 1, 0);
  struct ring_request across_end = transfer(RING_READ, memory, (uint64_t)BLOCKS * BLOCK - 4096, 0, -1);
  complete(ring, &across_end, 1, 4096);
  struct ring_request too_far = transfer(RING_WRITE, memory, INT64_MAX - 4095, 0, -1);
  complete(ring, &too_far, 1, -EINVAL);
  struct ring_request nowhere = transfer(RING_READ, (void *)4096, 0, 0, -1);
  complete(ring, &nowhere, 1, -EFAULT);
  struct ring_request unregistered = transfer(RING_READ, memory, 0, 0, 7);
  complete(ring, &unregistered, 1, -EFAULT);

  struct ring_request many[4 * DEPTH];
  memset(many, 0, sizeof many);
  struct ring_completion none[DEPTH];
  EXPECT(ring_cycle(ring, many, 4 * DEPTH, false, none) == -EOVERFLOW);
  EXPECT(ring_cycle(ring, NULL, 0, false, none) == 0);
}

struct waker {
  struct ring *ring;
  unsigned *published;
};

static void *wake_often(void *argument) {
  struct waker *waker = argument;
  for (unsigned i = 1; i <= WAKES; i++) {
    __atomic_store_n(waker->published, i, __ATOMIC_RELEASE);
    EXPECT(ring_wake(waker->ring) == 0);
  }
  return NULL;
}

static void *cycle_elsewhere(void *argument) {
  struct ring_completion none[DEPTH];
  EXPECT(ring_cycle(argument, NULL, 0, false, none) == -EEXIST);
  return NULL;
}

static void wakes(struct ring *ring) {
  struct ring_completion none[DEPTH];
  EXPECT(ring_wake(ring) == 0);
  EXPECT(ring_cycle(ring, NULL, 0, true, none) == 0);

  unsigned published = 0;
  struct waker waker = {ring, &published};
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, wake_often, &waker) == 0);
  while (__atomic_load_n(&published, __ATOMIC_ACQUIRE) != WAKES) {
    EXPECT(ring_cycle(ring, NULL, 0, true, none) == 0);
  }
  EXPECT(pthread_join(thread, NULL) == 0);
}

static void whole(bool deferred) {
  struct ring *ring = open_ring(deferred);
  char *memory = aligned(DEPTH * BLOCK);
  struct iovec buffer = {.iov_base = (void *)1, .iov_len = 4096};
  EXPECT(ring_register(ring, &buffer, 1) == -EFAULT);
  buffer = (struct iovec){.iov_base = memory, .iov_len = DEPTH / 2 * BLOCK};
  unsigned registered = ring_register(ring, &buffer, 1) == 0 ? DEPTH / 2 : 0;
  round_trips(ring, memory, registered);
  ends_and_errors(ring, memory);
  wakes(ring);
  if (deferred) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, cycle_elsewhere, ring) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
  }
  EXPECT(ring_destroy(ring) == 0);
  free(memory);
}

static void refusals(void) {
  struct ring *ring;
  EXPECT(ring_open_file("/no/such/file", false) == -ENOENT);
  EXPECT(ring_extend_file("/no/such/file", 4096) == -ENOENT);
  EXPECT(ring_extend_file(path, 0) == -EINVAL);
  EXPECT(ring_close_file(-1) == -EBADF);
  EXPECT(ring_create(-2, DEPTH, false, &ring) == -EBADF);
  int file = ring_open_file(path, direct);
  EXPECT(file >= 0);
  EXPECT(ring_create(file, 1U << 20, false, &ring) == -EINVAL);
  EXPECT(ring_close_file(file) == 0);
}

int main(int arguments, char **argument) {
  EXPECT(arguments == 2);
  snprintf(path, sizeof path, "%s/ring_check.data", argument[1]);
  int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  EXPECT(file >= 0 && ftruncate(file, (off_t)BLOCKS * BLOCK) == 0 && close(file) == 0);
  file = ring_open_file(path, true);
  direct = file != -EINVAL;
  EXPECT(!direct || ring_close_file(file) == 0);

  int before = descriptors();
  struct ring *probe;
  int kinds = 0;
  for (int deferred = 0; deferred <= 1; deferred++) {
    file = ring_open_file(path, direct);
    EXPECT(file >= 0);
    int result = ring_create(file, DEPTH, deferred, &probe);
    if (result < 0) {
      printf("ring_check: %s rings are refused here: %s\n", deferred ? "deferred" : "plain", strerror(-result));
      EXPECT(ring_close_file(file) == 0);
      continue;
    }
    EXPECT(ring_destroy(probe) == 0);
    whole(deferred);
    kinds++;
  }
  if (kinds > 0) {
    refusals();
  }
  EXPECT(descriptors() == before);
  EXPECT(unlink(path) == 0);
  printf("ring_check: %d kinds of ring%s: ok\n", kinds, direct ? "" : ", buffered: O_DIRECT is refused here");
  return 0;
}
