// The measuring code of the C programs about threads: wall time, processor time, context switches, and a run whose
// length is determined by shorter ones.
#ifndef MEASURE_H
#define MEASURE_H

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  double seconds, cpu;
  long switches;
} usage;

static inline int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void futex_wait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

// The usage of the process so far: the difference between two of these is the usage of a run.
static inline usage usage_now(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (usage){
    .seconds = now_ns() / 1e9,
    .cpu = u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
    .switches = u.ru_nvcsw + u.ru_nivcsw,
  };
}

static inline usage usage_since(usage before) {
  usage now = usage_now();
  return (usage){now.seconds - before.seconds, now.cpu - before.cpu, now.switches - before.switches};
}

static inline void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static inline void complain(const char *line) {
  fprintf(stderr, "%s\n", line);
  exit(2);
}

// Runs growing numbers of operations until a run takes a third of `seconds` (the warm-up), then the number that should
// take `seconds`, and prints the line for that run. A run that takes less than half the time is repeated.
static inline void measure(const char *peer, double seconds, void (*run)(long operations)) {
  long operations = 1024;
  usage used;
  for (double least = seconds / 3;; least = seconds / 2) {
    for (;;) {
      usage before = usage_now();
      run(operations);
      used = usage_since(before);
      if (used.seconds >= least) break;
      operations *= used.seconds < least / 8 ? 8 : 2;
    }
    if (least == seconds / 2) break;
    operations = (long)(operations * (seconds / used.seconds)) / 4 * 4 + 4;
  }
  printf("peer=%s operations=%ld seconds=%.6f rate=%.6f cpu=%.6f switches=%ld\n", peer, operations, used.seconds,
         operations / used.seconds / 1e6, used.cpu, used.switches);
}

#endif
