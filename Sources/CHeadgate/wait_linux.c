// Waiting on an address: futex(2), absolute CLOCK_MONOTONIC deadlines (FUTEX_WAIT_BITSET), process-private.
#if defined(__linux__)
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t headgate_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int headgate_wait(const uint32_t *word, uint32_t expected, uint64_t deadline) {
  struct timespec until, *limit = NULL;
  // A deadline beyond the range of time_t counts as none: the kernel would refuse it.
  if (deadline / 1000000000u < (uint64_t)INT_MAX) {
    until.tv_sec = (time_t)(deadline / 1000000000u);
    until.tv_nsec = (long)(deadline % 1000000000u);
    limit = &until;
  }
  int saved = errno;
  long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, limit, NULL,
                        FUTEX_BITSET_MATCH_ANY);
  int answer = (result == -1 && errno == ETIMEDOUT) ? ETIMEDOUT : 0;
  errno = saved;
  return answer;
}

static void wake(const uint32_t *word, int count) {
  int saved = errno;
  syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
  errno = saved;
}

void headgate_wake_one(const uint32_t *word) { wake(word, 1); }
void headgate_wake_all(const uint32_t *word) { wake(word, INT_MAX); }
#endif
