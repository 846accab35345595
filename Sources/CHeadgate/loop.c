#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#if defined(__linux__)
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

// The pointer is in thread-local storage, where a read takes one instruction. The key exists only for its destructor.
static _Thread_local void *loop;
static pthread_key_t loop_key;
static pthread_once_t loop_once = PTHREAD_ONCE_INIT;
static void (*loop_ended)(void *);

static void end_at_exit(void *pointer) {
  loop = NULL;
  __atomic_load_n(&loop_ended, __ATOMIC_RELAXED)(pointer);
}

static void make_key(void) { pthread_key_create(&loop_key, end_at_exit); }

void *headgate_loop_get(void) { return loop; }

void headgate_loop_set(void *pointer, void (*ended)(void *)) {
  __atomic_store_n(&loop_ended, ended, __ATOMIC_RELAXED);  // the same function each time
  pthread_once(&loop_once, make_key);
  pthread_setspecific(loop_key, pointer);
  loop = pointer;
}

void headgate_loop_clear(void) {
  pthread_setspecific(loop_key, NULL);
  loop = NULL;
}

#if defined(__linux__)
static int in_milliseconds(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds) {
  if (nanoseconds < 0) return epoll_wait(epoll, events, capacity, -1);
  int64_t milliseconds = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
  return epoll_wait(epoll, events, capacity, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}

int headgate_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds) {
#if defined(SYS_epoll_pwait2)
  // The kernel's layout, whatever the size of the C library's time_t.
  struct { int64_t seconds, nanoseconds; } limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  static int is_missing;
  // For no wait or no limit the old call is equivalent.
  if (nanoseconds > 0 && !__atomic_load_n(&is_missing, __ATOMIC_RELAXED)) {
    long count = syscall(SYS_epoll_pwait2, epoll, events, capacity, &limit, NULL, 0);
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return (int)count;
    // Old kernels lack the call, and old sandboxes refuse unknown calls.
    __atomic_store_n(&is_missing, 1, __ATOMIC_RELAXED);
  }
#endif
  return in_milliseconds(epoll, events, capacity, nanoseconds);
}

int headgate_accept(int listener, int flags) { return accept4(listener, NULL, NULL, flags); }
#endif
