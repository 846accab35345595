// The few functions that Swift cannot express: waiting on an address, threads with attributes, thread-local words.
#ifndef CHEADGATE_H
#define CHEADGATE_H

#include <errno.h>  // this header also shows Swift these parts of the C library, whatever their module is on a system
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sys/epoll.h>  // not in Swift's Glibc module
#include <sys/eventfd.h>
#endif

#include "headgate_loop.h"
#include "headgate_md5.h"
#include "headgate_sha256.h"
#include "headgate_thread.h"

// Monotonic nanoseconds. Linux: CLOCK_MONOTONIC; Apple: CLOCK_UPTIME_RAW. Neither advances while the machine sleeps.
uint64_t headgate_now(void);

// Sleeps while *word == expected, until a wake-up, a signal or the deadline (nanoseconds of headgate_now; UINT64_MAX
// for none). Wake-ups may be spurious. Returns 0, or ETIMEDOUT once the deadline has passed.
int headgate_wait(const uint32_t *word, uint32_t expected, uint64_t deadline);

// Wakes at most one (or all) of the threads that sleep on the word.
void headgate_wake_one(const uint32_t *word);
void headgate_wake_all(const uint32_t *word);

// A number that differs between living threads: the address of a word in thread-local storage.
uintptr_t headgate_thread_number(void);

// Like rename(2), but fails with EEXIST if `to` exists. Any other error may mean that the file system can't do this.
// Returns 0 or the error number.
int headgate_rename_exclusively(const char *from, const char *to);

// Sets a file's modification time, in seconds since 1970. Returns 0 or the error number.
int headgate_set_modified(int descriptor, int64_t seconds);

// Whether the process ignores a signal. In C, because Swift can't compare the addresses of handlers.
int headgate_signal_is_ignored(int number);

// From now on, a signal no longer has its usual effect: a byte is written to the descriptor, which is that of the last
// call. The byte is the signal's number. An ignored signal stays ignored, except SIGCHLD.
void headgate_relay_signal(int number, int descriptor);

// Whether the highest bit of that byte is set, from now on, if the system has sent the signal: as a terminal does to all
// processes of its foreground group. At first it is not.
void headgate_relay_marks(int marks);

// Ends the process as by this signal, without another dump of its memory. Returns if the signal ends no process.
void headgate_die_of_signal(int number);

// Asks the system to begin writing a file's data to the disk. Waits only while the disk's queue is full. Each file that
// is synced afterwards takes less time. Does nothing on systems without such a call.
void headgate_start_writing(int descriptor);

// Memory aligned to 16 bytes. Never NULL: like Swift's own allocation, it aborts the process when memory runs out.
static inline void *headgate_allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) abort();
  return memory;
}

static inline void headgate_free(void *memory) { free(memory); }

// Tells the thread sanitizer, if enabled, that whatever happened before the current task's resume happened before this
// call.
void headgate_task_resumed(void);

#if defined(HEADGATE_EXPLORE)
// Tests/Explorer schedules other threads here, and selects the planted fault.
void headgate_pause(void);
int headgate_is_planted(int number);
#else
// Hints to the processor that this is a spin loop.
static inline void headgate_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
#endif

// One pointer per thread, for the dispatcher's chain of delivery frames.
void *headgate_frame_get(void);
void headgate_frame_set(void *frame);

// One pointer per thread, for a thread pool's current frame.
void *headgate_pool_frame_get(void);
void headgate_pool_frame_set(void *frame);

// Requests the most precise timer wake-ups for the calling thread (Linux: a timer slack of 1 ns).
void headgate_precise_timers(void);

// The number of processors available to this process, which `taskset` and containers can restrict by naming them.
int headgate_processors(void);

// What the share of the processors' time that a container has is worth, in processors, rounded up (Linux's control groups,
// version 2, as seen from inside the container). INT_MAX without a limit. The threads of the system's own pools do not
// depend on it.
int headgate_processor_share(void);

// What a share of time is worth, in processors, by the text of `cpu.max`: quota and period in microseconds. INT_MAX
// without a limit.
int headgate_processors_worth(const char *limit);

// The processor that the calling thread is running on; -1 if the system does not tell.
int headgate_processor(void);

// Blocks SIGPIPE on the calling thread, so that a write to a closed socket is an error and does not end the process.
void headgate_block_sigpipe(void);

// How deeply the calling thread is nested in the program's log handlers.
int headgate_log_depth(void);
void headgate_set_log_depth(int depth);

// The calling thread's name in the system. The buffer has at least 16 bytes, including the terminating zero; empty if
// there is no name.
void headgate_log_thread_name(char *buffer, size_t size);

#endif
