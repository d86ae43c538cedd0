/*
 * confine deny ERRNO COMMAND...     runs a command whose io_uring_setup answers ERRNO, as under a container's filter
 * confine memlock BYTES COMMAND...  runs a command that may lock so little memory, without the right to lock more
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int deny(unsigned answer) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
    return -1;
  }
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int limit_memlock(rlim_t bytes) {
  struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0) {
    return -1;
  }
  /* Root would get the right back with exec. Who is not root may not drop it, and has not got it. */
  return prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0) < 0 && errno != EPERM ? -1 : 0;
}

int main(int arguments, char **argument) {
  if (arguments < 4) {
    fprintf(stderr, "usage: confine deny ERRNO|memlock BYTES COMMAND...\n");
    return 64;
  }
  unsigned long value = strtoul(argument[2], NULL, 10);
  int result = strcmp(argument[1], "deny") == 0 ? deny((unsigned)value) : limit_memlock(value);
  if (result < 0) {
    perror(argument[1]);
    return 65;
  }
  execvp(argument[3], argument + 3);
  perror(argument[3]);
  return 66;
}
