// Data races by vector clocks: L. Lamport (1978); C. Flanagan, S. Freund, "FastTrack" (2009), with the few latest accesses
// to each eight bytes, as the thread sanitizer keeps them.
//
// A thread's clock counts its own releases, and says of each other thread how many of that one's it has come to know. An
// access is ordered after another one if its thread knows of the release that followed that. Orders are those of C11: a
// relaxed access orders nothing, though all threads see all atomic words at once here.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "place.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

struct clock { uint32_t at[explorer_most_threads]; };

// One access to some of eight bytes; `mask` 0: none.
struct access {
  uint8_t mask, thread, writes;
  uint32_t time;
  const void *caller;
};

enum { kept = 4, capacity = 1 << 16 };

// Eight bytes of memory, or an atomic word: `key` tells which. One of an earlier run is empty.
struct cell {
  uintptr_t key;
  uint32_t run;
  uint8_t next, has_words;
  union {
    struct access accesses[kept];
    struct clock clock;
  };
};

static struct cell cells[capacity];
static struct clock clocks[explorer_most_threads];
static uint32_t run;
static int is_on, used;
static char race[600];
// Threads that are in no run free memory at any time.
static char lock;

static void take_lock(void) {
  while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {}
}
static void free_lock(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }

void explorer_begin(int races) {
  take_lock();
  run++;
  used = 0;
  is_on = races;
  race[0] = 0;
  memset(clocks, 0, sizeof(clocks));
  for (int thread = 0; thread < explorer_most_threads; thread++) clocks[thread].at[thread] = 1;
  free_lock();
}

const char *explorer_race(void) { return race[0] ? race : NULL; }

static void join(struct clock *clock, const struct clock *other) {
  for (int thread = 0; thread < explorer_most_threads; thread++)
    if (clock->at[thread] < other->at[thread]) clock->at[thread] = other->at[thread];
}

void explorer_order(int first, int second) {
  join(&clocks[second], &clocks[first]);
  clocks[first].at[first]++;
}

static uintptr_t bytes_key(uintptr_t address) { return address & ~(uintptr_t)7; }
// No eight bytes begin at an odd address.
static uintptr_t word_key(uintptr_t address) { return address * 2 + 1; }

// `make`: also if there is none yet.
static struct cell *find(uintptr_t key, int make) {
  size_t place = (key * 0x9e3779b97f4a7c15u) >> 48;
  for (;; place = (place + 1) % capacity) {
    struct cell *cell = &cells[place];
    if (cell->run != run) {
      if (!make) return NULL;
      if (++used > capacity / 2) {
        snprintf(race, sizeof(race), "the run touches more memory than the search for races can keep");
        is_on = 0;
        return NULL;
      }
      memset(cell, 0, sizeof(*cell));
      cell->key = key;
      cell->run = run;
      return cell;
    }
    if (cell->key == key) return cell;
  }
}

void explorer_atomic(const volatile void *address, int acquires, int releases, int is_store) {
  if (explorer_here.run == NULL || !is_on) return;
  take_lock();
  struct clock *mine = &clocks[explorer_here.thread];
  struct cell *word = find(word_key((uintptr_t)address), releases);
  if (word != NULL && acquires) join(mine, &word->clock);
  // A store begins anew what is known by the word; an update goes on with it.
  if (word != NULL && is_store) memset(&word->clock, 0, sizeof(word->clock));
  if (word != NULL && releases) {
    join(&word->clock, mine);
    mine->at[explorer_here.thread]++;
    struct cell *bytes = find(bytes_key((uintptr_t)address), 1);
    if (bytes != NULL) bytes->has_words |= (uint8_t)(1 << ((uintptr_t)address & 7));
  }
  free_lock();
}

void explorer_release(const void *address) { explorer_atomic(address, 0, 1, 0); }
void explorer_acquire(const void *address) { explorer_atomic(address, 1, 0, 0); }

static void describe(char *text, size_t size, const void *caller) {
  Dl_info info;
  if (!dladdr(caller, &info)) info.dli_fbase = NULL, info.dli_sname = NULL;
  snprintf(text, size, "%s+%#lx", info.dli_sname ? info.dli_sname : "",
           (unsigned long)((const char *)caller - (const char *)info.dli_fbase));
}

static void tell(const struct access *before, const struct access *now) {
  char first[250], second[250];
  describe(first, sizeof(first), before->caller);
  describe(second, sizeof(second), now->caller);
  snprintf(race, sizeof(race), "thread %d %s at %s what thread %d %s at %s, and nothing orders the two", now->thread,
           now->writes ? "writes" : "reads", second, before->thread, before->writes ? "wrote" : "read", first);
}

static void check(uintptr_t key, struct access now) {
  struct cell *cell = find(key, 1);
  if (cell == NULL) return;
  struct clock *mine = &clocks[now.thread];
  struct access *place = NULL;
  for (int index = 0; index < kept; index++) {
    struct access *before = &cell->accesses[index];
    if (before->mask == 0) {
      if (place == NULL) place = before;
      continue;
    }
    if (before->thread == now.thread) {
      if (before->mask == now.mask && before->writes <= now.writes) place = before;
      continue;
    }
    int touch = before->mask & now.mask, conflict = before->writes || now.writes;
    if (touch && conflict && before->time > mine->at[before->thread] && race[0] == 0) tell(before, &now);
  }
  if (place == NULL) place = &cell->accesses[cell->next++ % kept];
  *place = now;
}

void explorer_plain(const void *address, uintptr_t size, int writes, const void *caller) {
  if (!is_on) return;
  take_lock();
  int thread = explorer_here.thread;
  uintptr_t at = (uintptr_t)address, end = at + size;
  for (uintptr_t key = bytes_key(at); key < end; key += 8) {
    uint8_t mask = 0xff;
    if (key < at) mask &= (uint8_t)(0xff << (at - key));
    if (key + 8 > end) mask &= (uint8_t)(0xff >> (key + 8 - end));
    struct access now = {mask, (uint8_t)thread, (uint8_t)writes, clocks[thread].at[thread], caller};
    check(key, now);
  }
  free_lock();
}

// Memory that is given back is another's next, whom nothing orders after its last.
extern void __libc_free(void *memory);

void free(void *memory) {
  if (is_on && memory != NULL) {
    take_lock();
    uintptr_t at = (uintptr_t)memory, end = at + malloc_usable_size(memory);
    for (uintptr_t key = bytes_key(at); key < end; key += 8) {
      struct cell *cell = find(key, 0);
      if (cell == NULL) continue;
      for (int byte = 0; byte < 8; byte++) {
        struct cell *word = cell->has_words & (1 << byte) ? find(word_key(key + (uintptr_t)byte), 0) : NULL;
        if (word != NULL) memset(&word->clock, 0, sizeof(word->clock));
      }
      cell->has_words = 0;
      memset(cell->accesses, 0, sizeof(cell->accesses));
    }
    free_lock();
  }
  __libc_free(memory);
}
