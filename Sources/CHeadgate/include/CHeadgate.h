// The few lines that Swift cannot say: waiting on an address, threads with attributes, thread-local words.
#ifndef CHEADGATE_H
#define CHEADGATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/epoll.h>    // Swift's Glibc module leaves these two out
#include <sys/eventfd.h>
#endif

#include "headgate_loop.h"
#include "headgate_thread.h"

// Monotonic nanoseconds. Linux: CLOCK_MONOTONIC; Apple: CLOCK_UPTIME_RAW. Both stand still while the machine sleeps.
uint64_t headgate_now(void);

// Sleeps while *word == expected, until a wake-up, a signal or the deadline (nanoseconds of headgate_now; UINT64_MAX:
// none). May return early for no reason. Returns 0, or ETIMEDOUT once the deadline has passed.
int headgate_wait(const uint32_t *word, uint32_t expected, uint64_t deadline);

// Wakes at most one (or all) of the threads that sleep on the word.
void headgate_wake_one(const uint32_t *word);
void headgate_wake_all(const uint32_t *word);

// A number that differs between living threads: the address of a word in thread-local storage.
uintptr_t headgate_thread_number(void);

// Memory that is aligned to 16 bytes. Never NULL: like Swift's own, it ends the process when there is none.
static inline void *headgate_allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) abort();
  return memory;
}

static inline void headgate_free(void *memory) { free(memory); }

// For the thread sanitizer, when it is on: what others did before they resumed the current task lies behind us.
void headgate_task_resumed(void);

// Tells the processor that this is a busy wait.
static inline void headgate_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Tells the processor that memory will be written soon. The address need not be valid.
static inline void headgate_prepare_to_write(const void *address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
  __builtin_prefetch(address, 1);
#endif
}

// One pointer a thread, for the dispatcher's chain of delivery frames.
void *headgate_frame_get(void);
void headgate_frame_set(void *frame);

// One pointer a thread, for what a thread pool runs on it.
void *headgate_pool_frame_get(void);
void headgate_pool_frame_set(void *frame);

// Asks the system to wake the calling thread's timed waits as exactly as it can (Linux: a timer slack of 1 ns).
void headgate_precise_timers(void);

// The processors that this process may use, which `taskset` and containers make fewer than the machine's.
int headgate_processors(void);

// The processor that the calling thread runs on at the moment; -1 where the system does not say.
int headgate_processor(void);

// Keeps SIGPIPE from the calling thread, so that a write to a closed socket is an error and not the process's end.
void headgate_block_sigpipe(void);

// How deep the calling thread is in calls that tell the program something, for the log.
int headgate_log_depth(void);
void headgate_set_log_depth(int depth);

// The calling thread's name as the system knows it, at least 16 bytes with the zero; empty if it has none.
void headgate_log_thread_name(char *buffer, size_t size);

// The same as two words, zeros after its end. 0 if it is longer than fifteen bytes, and does not fit. On Linux the system
// is asked once a second: the call takes as long as putting a line together.
int headgate_log_thread_words(uint64_t words[2]);

// The calling thread has another name now.
void headgate_log_forget_name(void);

// What the calling thread keeps for its lines; NULL if nothing, as at first. It is let go of when the thread exits, by the
// function that it was last kept with, the same one in all calls.
void *headgate_log_kept(void);
void headgate_log_keep(void *kept, void (*let_go)(void *));

#endif
