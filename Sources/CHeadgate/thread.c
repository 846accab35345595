#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#endif

static _Thread_local void *top_frame;
static _Thread_local char here;

uintptr_t headgate_thread_number(void) { return (uintptr_t)&here; }

// The pointer stands in thread-local storage, where reading it costs an instruction; the key is there for its destructor.
static _Thread_local void *record;
static pthread_key_t record_key;
static pthread_once_t record_once = PTHREAD_ONCE_INIT;
static void (*destroy_record)(void *);

static void destroy_at_exit(void *pointer) {
  record = NULL;
  destroy_record(pointer);
}

static void make_key(void) { pthread_key_create(&record_key, destroy_at_exit); }

void *headgate_record_get(void) { return record; }

void headgate_record_set(void *pointer, void (*destroy)(void *)) {
  destroy_record = destroy;
  pthread_once(&record_once, make_key);
  pthread_setspecific(record_key, pointer);
  record = pointer;
}

static _Thread_local int is_service;

int headgate_is_service_thread(void) { return is_service; }
void headgate_mark_service_thread(void) { is_service = 1; }

void *headgate_frame_get(void) { return top_frame; }
void headgate_frame_set(void *frame) { top_frame = frame; }

struct start {
  void (*body)(void *);
  void *context;
  char name[64];
};

static void *run(void *pointer) {
  struct start start = *(struct start *)pointer;
  free(pointer);
#if defined(__APPLE__)
  pthread_setname_np(start.name);
#else
  start.name[15] = 0;  // Linux takes 15 bytes and a zero, and refuses a longer name whole
  pthread_setname_np(pthread_self(), start.name);
#endif
  start.body(start.context);
  return NULL;
}

int headgate_thread_start(const char *name, size_t stack, void (*body)(void *), void *context) {
  struct start *start = calloc(1, sizeof(struct start));
  if (start == NULL) return ENOMEM;
  start->body = body;
  start->context = context;
  strncpy(start->name, name, sizeof(start->name) - 1);

  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack > 0) error = pthread_attr_setstacksize(&attributes, stack);
    pthread_t thread;
    if (error == 0) error = pthread_create(&thread, &attributes, run, start);
    pthread_attr_destroy(&attributes);
  }
  if (error != 0) free(start);
  return error;
}

void headgate_precise_timers(void) {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}

void headgate_block_sigpipe(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int headgate_processors(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}
