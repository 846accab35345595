// The machine that explored code runs on: HeadgateThreads is compiled as for the thread sanitizer, with this in the place of
// the sanitizer's library. So each access to an atomic word is a step, before which the search may let another thread go
// on, each sleep and wake-up on a word is one of the machine's own, and each access to plain memory is seen.
#ifndef EXPLORER_H
#define EXPLORER_H

#include <stdint.h>

// What the search decides. Called on explored threads only, with their run and number there.
struct explorer_search {
  // Something shared is about to be touched.
  void (*step)(void *run, int thread);
  // The thread looks again and again for what another is about to do.
  void (*pause)(void *run, int thread);
  // Sleeps on a word. 0: the deadline passed. May return 1 for no reason.
  int (*sleep)(void *run, int thread, uintptr_t word, uint64_t deadline);
  // Wakes the first sleeper on a word. 0: there is none.
  int (*wake)(void *run, int thread, uintptr_t word);
  uint64_t (*now)(void *run);
  // A task's next piece is to run, by a thread of the run.
  void (*task)(void *run, void *job);
};

void explorer_install(struct explorer_search search);

// The calling thread's place in a run; NULL: it is in none, which is how every thread begins.
void *explorer_run(void);
int explorer_thread(void);
void explorer_enter(void *run, int thread);
void explorer_leave(void);
// The thread is in no run between the two, the second of which gets what the first one returned.
void *explorer_pause_run(void);
void explorer_resume_run(void *run);
// Until the count is back, what the thread does is one step.
void explorer_quiet(int more);

// ---- Races: which accesses to plain memory are ordered by nothing (races.c).

enum { explorer_most_threads = 64 };

// A run begins. `races`: whether plain accesses are looked at.
void explorer_begin(int races);
// What the first thread did until now comes before all that the second one does.
void explorer_order(int first, int second);
// The same by way of something that the explored code does not know of: between its `release` and a later `acquire`.
void explorer_release(const void *address);
void explorer_acquire(const void *address);
// The first race of the run, for people; NULL: none. Valid until the next run.
const char *explorer_race(void);

// For instrumentation.c.
void explorer_atomic(const volatile void *address, int acquires, int releases, int is_store);
void explorer_plain(const void *address, uintptr_t size, int writes, const void *caller);

// ---- Planted faults: the number of the one that is planted; 0: none.

void explorer_plant(int number);
int headgate_is_planted(int number);

#endif
