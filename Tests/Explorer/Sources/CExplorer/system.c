// The calls of CHeadgate that reach the system, for explored threads: sleeping on a word, the clock, the processor. Other
// threads get the real ones.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "place.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int planted;

void explorer_plant(int number) { planted = number; }
int headgate_is_planted(int number) { return planted == number; }

uint64_t headgate_now(void) {
  if (explorer_here.run != NULL) return explorer_by.now(explorer_here.run);
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void step(void) {
  if (!explorer_here.quiet) explorer_by.step(explorer_here.run, explorer_here.thread);
}

int headgate_wait(const uint32_t *word, uint32_t expected, uint64_t deadline) {
  if (explorer_here.run == NULL) {
    // In slices: one of the explored threads may wake us without a call.
    struct timespec slice = {.tv_nsec = 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, &slice, NULL, 0);
    return headgate_now() >= deadline ? ETIMEDOUT : 0;
  }
  // The look at the word and the beginning of the sleep are one, as the system's are.
  step();
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != expected) return 0;
  return explorer_by.sleep(explorer_here.run, explorer_here.thread, (uintptr_t)word, deadline) ? 0 : ETIMEDOUT;
}

void headgate_wake_one(const uint32_t *word) {
  if (explorer_here.run != NULL) {
    step();
    explorer_by.wake(explorer_here.run, explorer_here.thread, (uintptr_t)word);
  }
  // Whoever is in no run looks again by itself.
}

void headgate_wake_all(const uint32_t *word) {
  if (explorer_here.run == NULL) return;
  step();
  while (explorer_by.wake(explorer_here.run, explorer_here.thread, (uintptr_t)word)) {}
}

void headgate_pause(void) {
  if (explorer_here.run != NULL && !explorer_here.quiet) explorer_by.pause(explorer_here.run, explorer_here.thread);
}

// A script must do the same in each run, wherever it runs.
int headgate_processor(void) { return 0; }
