#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

// ---- Thread-local words.

static _Thread_local void *top_frame;
static _Thread_local char here;
static _Thread_local int role;

uintptr_t headgate_thread_number(void) { return (uintptr_t)&here; }

void *headgate_frame_get(void) { return top_frame; }
void headgate_frame_set(void *frame) { top_frame = frame; }
int headgate_thread_role(void) { return role; }
void headgate_thread_set_role(int new_role) { role = new_role; }

static void (*destroy_thread)(struct headgate_thread *);

#if defined(__APPLE__)
pthread_key_t headgate_thread_key;
#define KEY headgate_thread_key
#else
_Thread_local struct headgate_thread *headgate_current;
static pthread_key_t key;
#define KEY key
#endif

static void destroy_at_exit(void *pointer) {
#if defined(__APPLE__)
  pthread_setspecific(KEY, pointer);  // the destructors of the thread's values may still use the library
#endif
  __atomic_load_n(&destroy_thread, __ATOMIC_RELAXED)(pointer);
}

// Before main, so that reading the word needs no check whether the key exists.
__attribute__((constructor)) static void make_key(void) { pthread_key_create(&KEY, destroy_at_exit); }

void headgate_thread_set_current(struct headgate_thread *thread, int is_own, void (*destroy)(struct headgate_thread *)) {
  __atomic_store_n(&destroy_thread, destroy, __ATOMIC_RELAXED);  // the same function each time
#if defined(__APPLE__)
  (void)is_own;
  pthread_setspecific(KEY, thread);
#else
  headgate_current = thread;
  // Not for the library's own threads: a thread that has ever set a value visits all keys when it exits.
  if (!is_own) pthread_setspecific(KEY, thread);
#endif
}

void headgate_thread_clear_current(void) {
  if (pthread_getspecific(KEY) != NULL) pthread_setspecific(KEY, NULL);
#if !defined(__APPLE__)
  headgate_current = NULL;
#endif
}

// ---- Threads.

static void (*thread_body)(void *);

// The thread exits through pthread_exit.
static void left(void *unused) {
  (void)unused;
  struct headgate_thread *thread = headgate_thread_current();
  if (thread != NULL) __atomic_load_n(&destroy_thread, __ATOMIC_RELAXED)(thread);
}

static void *run(void *context) {
  pthread_cleanup_push(left, NULL);
  __atomic_load_n(&thread_body, __ATOMIC_RELAXED)(context);
  pthread_cleanup_pop(0);
  return NULL;
}

// Signals raised by the thread itself must reach their handlers, and a profiler's signals its threads.
static void fill_with_foreign_signals(sigset_t *set) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
  sigfillset(set);
  for (size_t place = 0; place < sizeof(own) / sizeof(own[0]); place++) sigdelset(set, own[place]);
}

int headgate_thread_create(uintptr_t *thread, const struct headgate_thread_attributes *wanted,
                           void (*body)(void *), void *context) {
  __atomic_store_n(&thread_body, body, __ATOMIC_RELAXED);
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  if (wanted->detached) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (wanted->stack > 0) error = pthread_attr_setstacksize(&attributes, wanted->stack);
#if defined(__APPLE__)
  if (error == 0 && wanted->quality != 0) error = pthread_attr_set_qos_class_np(&attributes, wanted->quality, 0);
#endif
  // A thread inherits its creator's mask. It is set there, since a signal might arrive before the new thread could set
  // it.
  sigset_t foreign, before;
  if (wanted->blocks_signals) {
    fill_with_foreign_signals(&foreign);
    pthread_sigmask(SIG_BLOCK, &foreign, &before);
  }
  pthread_t made;
  if (error == 0) error = pthread_create(&made, &attributes, run, context);
  if (wanted->blocks_signals) pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (error == 0) *thread = (uintptr_t)made;
  return error;
}

uintptr_t headgate_thread_self(void) { return (uintptr_t)pthread_self(); }

void headgate_thread_join(uintptr_t thread) { pthread_join((pthread_t)thread, NULL); }
void headgate_thread_detach(uintptr_t thread) { pthread_detach((pthread_t)thread); }

int headgate_thread_try_join(uintptr_t thread) {
#if defined(__GLIBC__)
  return pthread_tryjoin_np((pthread_t)thread, NULL) == 0;
#else
  (void)thread;
  return 0;
#endif
}

uint64_t headgate_thread_system_number(uintptr_t thread) {
#if defined(__APPLE__)
  uint64_t number = 0;
  pthread_threadid_np((pthread_t)thread, &number);
  return number;
#else
  // No call returns another thread's number, but its clock's identifier contains it (MAKE_THREAD_CPUCLOCK in the
  // kernel).
  clockid_t clock = 0;
  if (pthread_getcpuclockid((pthread_t)thread, &clock) != 0) return 0;
  return (uint64_t)~(clock >> 3);
#endif
}

int headgate_thread_is_main(void) {
#if defined(__APPLE__)
  return pthread_main_np();
#else
  return getpid() == (pid_t)syscall(SYS_gettid);
#endif
}

size_t headgate_thread_stack(uintptr_t thread) {
#if defined(__APPLE__)
  return pthread_get_stacksize_np((pthread_t)thread);
#else
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_np((pthread_t)thread, &attributes) != 0) return 0;
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return size;
#endif
}

uintptr_t headgate_stack_here(void) { return (uintptr_t)__builtin_frame_address(0); }

size_t headgate_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

size_t headgate_stack_minimum(void) {
  long minimum = sysconf(_SC_THREAD_STACK_MIN);  // varies with the processor, unlike PTHREAD_STACK_MIN
  return minimum > 0 ? (size_t)minimum : 16384;
}

uint64_t headgate_memory(void) {
#if defined(__APPLE__)
  uint64_t bytes = 0;
  size_t size = sizeof(bytes);
  sysctlbyname("hw.memsize", &bytes, &size, NULL, 0);
  return bytes;
#else
  return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
#endif
}

void headgate_thread_name(const char *name) {
#if defined(__APPLE__)
  pthread_setname_np(name);
#else
  pthread_setname_np(pthread_self(), name);
#endif
}

void headgate_thread_get_name(uintptr_t thread, char *buffer, size_t size) {
  if (pthread_getname_np((pthread_t)thread, buffer, size) != 0) buffer[0] = 0;
}

// ---- Priorities. On Linux a nice value belongs to a thread, unlike in POSIX, where it belongs to the process.

#if defined(__linux__)
int headgate_set_nice(uint64_t number, int nice) {
  int error = headgate_set_policy(number, SCHED_OTHER, 0);
  if (error != 0) return error;
  return setpriority(PRIO_PROCESS, (id_t)number, nice) == 0 ? 0 : errno;
}

int headgate_set_policy(uint64_t number, int policy, int level) {
  struct sched_param parameters;
  memset(&parameters, 0, sizeof(parameters));
  parameters.sched_priority = level;
  // The system call itself: musl's function is a stub that always fails.
  return syscall(SYS_sched_setscheduler, (pid_t)number, policy, &parameters) == 0 ? 0 : errno;
}

int headgate_get_priority(uint64_t number, int *policy, int *level, int *nice) {
  struct sched_param parameters;
  long found = syscall(SYS_sched_getscheduler, (pid_t)number);
  if (found < 0 || syscall(SYS_sched_getparam, (pid_t)number, &parameters) != 0) return errno;
  errno = 0;
  int value = getpriority(PRIO_PROCESS, (id_t)number);
  if (value == -1 && errno != 0) return errno;
  *policy = (int)found & 0xff;  // without SCHED_RESET_ON_FORK
  *level = parameters.sched_priority;
  *nice = value;
  return 0;
}

void headgate_precise_timers(void) { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }
#else
int headgate_set_nice(uint64_t number, int nice) { (void)number, (void)nice; return ENOTSUP; }
int headgate_set_policy(uint64_t number, int policy, int level) {
  (void)number;
  struct sched_param parameters;
  memset(&parameters, 0, sizeof(parameters));
  parameters.sched_priority = level;
  return pthread_setschedparam(pthread_self(), policy, &parameters);
}
int headgate_get_priority(uint64_t number, int *policy, int *level, int *nice) {
  (void)number;
  struct sched_param parameters;
  int error = pthread_getschedparam(pthread_self(), policy, &parameters);
  *level = parameters.sched_priority;
  *nice = 0;
  return error;
}
void headgate_precise_timers(void) {}
#endif

void headgate_block_sigpipe(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int headgate_processors_worth(const char *limit) {
  long quota, period;
  if (sscanf(limit, "%ld %ld", &quota, &period) != 2 || quota <= 0 || period <= 0) return INT_MAX;
  long worth = (quota - 1) / period + 1;
  return worth < INT_MAX ? (int)worth : INT_MAX;
}

int headgate_processor_share(void) {
  char limit[64] = "";
#if defined(__linux__)
  int file = open("/sys/fs/cgroup/cpu.max", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t count = read(file, limit, sizeof(limit) - 1);
    if (count < 0) limit[0] = 0;
    close(file);
  }
#endif
  return headgate_processors_worth(limit);
}

int headgate_processors(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}
