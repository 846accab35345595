#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

static _Thread_local int depth;

int headgate_log_depth(void) { return depth; }
void headgate_set_log_depth(int new_depth) { depth = new_depth; }

void headgate_log_thread_name(char *buffer, size_t size) {
  buffer[0] = 0;
  if (pthread_getname_np(pthread_self(), buffer, size) != 0) buffer[0] = 0;
}

#if defined(__linux__)
// The thread's name, and the second in which it was read plus one; 0 if it was not read.
static _Thread_local struct {
  uint64_t words[2];
  time_t asked;
} name;

void headgate_log_forget_name(void) { name.asked = 0; }
#else
void headgate_log_forget_name(void) {}
#endif

int headgate_log_thread_words(uint64_t words[2]) {
#if defined(__linux__)
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (name.asked != now.tv_sec + 1) {
    name.asked = now.tv_sec + 1;
    name.words[0] = name.words[1] = 0;
    // The same call that the C library makes, without the detour by the thread's number. No name is longer.
    prctl(PR_GET_NAME, name.words, 0, 0, 0);
  }
  words[0] = name.words[0];
  words[1] = name.words[1];
  return 1;
#else
  words[0] = words[1] = 0;
  char name[64];
  headgate_log_thread_name(name, sizeof(name));
  size_t length = strlen(name);
  if (length > 15) return 0;
  memcpy(words, name, length);
  return 1;
#endif
}

// The pointer is in thread-local storage. The key exists only for its destructor.
static _Thread_local void *kept;
static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static int has_key;
static void (*release)(void *);

// Another key's destructor may log a line after this, which stores a new value. The system then calls this again.
static void release_at_exit(void *last) {
  kept = NULL;
  __atomic_load_n(&release, __ATOMIC_RELAXED)(last);
}

// A process has a limited number of keys. Without one, a thread's value leaks.
static void make_key(void) { has_key = pthread_key_create(&kept_key, release_at_exit) == 0; }

void *headgate_log_kept(void) { return kept; }

void headgate_log_keep(void *new_kept, void (*new_release)(void *)) {
  __atomic_store_n(&release, new_release, __ATOMIC_RELAXED);  // the same function each time
  pthread_once(&kept_once, make_key);
  if (has_key) pthread_setspecific(kept_key, new_kept);
  kept = new_kept;
}
