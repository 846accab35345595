// What run loops need of C: a word for each thread's loop, and waiting for descriptors to the nanosecond.
#ifndef HEADGATE_LOOP_H
#define HEADGATE_LOOP_H

#include <stdint.h>
#if defined(__linux__)
#include <sys/epoll.h>
#endif

// The calling thread's run loop, or NULL. `ended` is called with it when the thread exits with it set, also on threads
// that others started.
void *headgate_loop_get(void);
void headgate_loop_set(void *loop, void (*ended)(void *));

// Takes away what was set.
void headgate_loop_clear(void);

#if defined(__linux__)
// epoll_wait(2) with a limit in nanoseconds (negative: none). Linux before 5.11 has only milliseconds; there they are
// rounded up.
int headgate_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds);
#endif

#endif
