#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CStallingResolver.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stalled;
static int armed = 1;

// The last look-ups that stalled, by name.
enum { most_asked = 256 };
static char asked[most_asked][64];

static struct timespec after(int milliseconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += milliseconds / 1000;
  time.tv_nsec += (milliseconds % 1000) * 1000000L;
  if (time.tv_nsec >= 1000000000L) {
    time.tv_sec += 1;
    time.tv_nsec -= 1000000000L;
  }
  return time;
}

#if defined(__linux__)
static unsigned asked_count;

static int ends_with(const char *name, const char *end) {
  size_t length = strlen(name), tail = strlen(end);
  return length >= tail && strcmp(name + length - tail, end) == 0;
}

typedef int lookup(const char *, const char *, const struct addrinfo *, struct addrinfo **);

// ::1 first, then 127.0.0.1, as the family allows.
static int dual(lookup *real, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  int family = hints != NULL ? hints->ai_family : AF_UNSPEC;
  if (family == AF_INET) return real("127.0.0.1", service, hints, result);
  if (family == AF_INET6) return real("::1", service, hints, result);
  struct addrinfo *second = NULL;
  int error = real("127.0.0.1", service, hints, &second);
  if (error == 0) error = real("::1", service, hints, result);
  if (error != 0) return error;
  struct addrinfo *last = *result;
  while (last->ai_next != NULL) last = last->ai_next;
  last->ai_next = second;
  return 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
  if (node != NULL && ends_with(node, ".stall.test")) {
    pthread_mutex_lock(&mutex);
    stalled += 1;
    strncpy(asked[asked_count++ % most_asked], node, sizeof asked[0] - 1);
    pthread_cond_broadcast(&changed);
    struct timespec end = after(60000);  // a bound, so that a broken test ends
    while (armed && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {
    }
    stalled -= 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    node = "127.0.0.1";
  } else if (node != NULL && ends_with(node, ".loop.test")) {
    node = "127.0.0.1";
  } else if (node != NULL && ends_with(node, ".dual.test")) {
    return dual(real, service, hints, result);
  } else if (node != NULL && ends_with(node, ".six.test")) {
    if (hints != NULL && hints->ai_family == AF_INET) return EAI_NONAME;
    node = "::1";
  }
  return real(node, service, hints, result);
}
#endif

int stalling_resolver_count(void) {
  pthread_mutex_lock(&mutex);
  int count = stalled;
  pthread_mutex_unlock(&mutex);
  return count;
}

int stalling_resolver_asked(const char *name) {
  int count = 0;
  pthread_mutex_lock(&mutex);
  for (int place = 0; place < most_asked; place++) count += strcmp(asked[place], name) == 0;
  pthread_mutex_unlock(&mutex);
  return count;
}

int stalling_resolver_wait_for(const char *name, int milliseconds) {
  struct timespec end = after(milliseconds);
  int found = 0;
  pthread_mutex_lock(&mutex);
  while (!found) {
    for (int place = 0; place < most_asked; place++) found |= strcmp(asked[place], name) == 0;
    if (!found && pthread_cond_timedwait(&changed, &mutex, &end) != 0) break;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

int stalling_resolver_wait(int count, int milliseconds) {
  struct timespec end = after(milliseconds);
  pthread_mutex_lock(&mutex);
  while (stalled < count && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {
  }
  int found = stalled;
  pthread_mutex_unlock(&mutex);
  return found;
}

void stalling_resolver_release(void) {
  pthread_mutex_lock(&mutex);
  armed = 0;
  pthread_cond_broadcast(&changed);
  // Until all have left: one that has not woken yet would stall again when the next test arms.
  struct timespec end = after(60000);
  while (stalled > 0 && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {
  }
  pthread_mutex_unlock(&mutex);
}

void stalling_resolver_arm(void) {
  pthread_mutex_lock(&mutex);
  armed = 1;
  pthread_mutex_unlock(&mutex);
}
