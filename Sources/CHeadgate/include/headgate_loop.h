// C support for run loops: a thread-local word for each thread's loop, polling with nanosecond precision, and sockets
// that are accepted with flags.
#ifndef HEADGATE_LOOP_H
#define HEADGATE_LOOP_H

#include <stdint.h>
#if defined(__linux__)
#include <sys/epoll.h>
#endif

// The calling thread's run loop, or NULL. `ended` is called with it if the thread exits while it is set, also on
// foreign threads.
void *headgate_loop_get(void);
void headgate_loop_set(void *loop, void (*ended)(void *));

// Clears the calling thread's run loop.
void headgate_loop_clear(void);

#if defined(__linux__)
// epoll_wait(2) with a timeout in nanoseconds (negative: none). Linux before 5.11 supports only milliseconds; the
// timeout is then rounded up.
int headgate_epoll_wait(int epoll, struct epoll_event *events, int capacity, int64_t nanoseconds);

// accept4(2) without the peer's address. Swift's Glibc module does not export accept4.
int headgate_accept(int listener, int flags);
#endif

#endif
