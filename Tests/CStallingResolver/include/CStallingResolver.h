// For tests: a getaddrinfo that stalls for names under stall.test until it is let go, and answers 127.0.0.1 for names
// under loop.test, ::1 and then 127.0.0.1 for names under dual.test, ::1 alone for names under six.test. It stands before
// the C library's own one in the test executable, so libcurl's look-ups meet it.
#ifndef CSTALLINGRESOLVER_H
#define CSTALLINGRESOLVER_H

// Look-ups that are stalled at this moment.
int stalling_resolver_count(void);

// Blocks until that many look-ups are stalled, or the milliseconds have passed. Returns how many are.
int stalling_resolver_wait(int count, int milliseconds);

// How often a name under stall.test was looked up, among the last 256 of them.
int stalling_resolver_asked(const char *name);

// Blocks until a name under stall.test is looked up, or the milliseconds have passed. Returns whether it was.
int stalling_resolver_wait_for(const char *name, int milliseconds);

// Lets all stalled look-ups, and all later ones, go on. Returns when the stalled ones have.
void stalling_resolver_release(void);

// Stalls again.
void stalling_resolver_arm(void);

#endif
