// What the compiler calls with -sanitize=thread. The sanitizer's own library is not linked.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "place.h"

#include <dlfcn.h>
#include <string.h>

_Thread_local struct explorer_place explorer_here;
struct explorer_search explorer_by;

// Of Swift's runtime: where a task that prefers no executor gets a thread.
typedef __attribute__((swiftcall)) void (*enqueue_task)(void *job);
extern __attribute__((swiftcall)) void (*swift_task_enqueueGlobal_hook)(void *job, enqueue_task original);

static __attribute__((swiftcall)) void enqueue(void *job, enqueue_task original) {
  if (explorer_here.run != NULL)
    explorer_by.task(explorer_here.run, job);
  else
    original(job);
}

void explorer_install(struct explorer_search search) {
  explorer_by = search;
  swift_task_enqueueGlobal_hook = enqueue;
}

void *explorer_run(void) { return explorer_here.run; }
int explorer_thread(void) { return explorer_here.thread; }

void explorer_enter(void *run, int thread) {
  explorer_here.run = run;
  explorer_here.thread = thread;
  explorer_here.stack = (uintptr_t)__builtin_frame_address(0);
}

void explorer_leave(void) { explorer_here.run = NULL; }

void *explorer_pause_run(void) {
  void *run = explorer_here.run;
  explorer_here.run = NULL;
  return run;
}

void explorer_resume_run(void *run) { explorer_here.run = run; }
void explorer_quiet(int more) { explorer_here.quiet += more; }

// Of the linker's: words between the two outlive a run and are no part of it.
extern char __data_start, _end;

static int is_static(const volatile void *address) {
  return (const volatile char *)address >= &__data_start && (const volatile char *)address < &_end;
}

static void step(const volatile void *address) {
  if (explorer_here.run != NULL && !explorer_here.quiet && !is_static(address))
    explorer_by.step(explorer_here.run, explorer_here.thread);
}

static int acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
static int releases(int order) { return order >= __ATOMIC_RELEASE; }

static void order(const volatile void *address, int order) {
  explorer_atomic(address, acquires(order), releases(order), 0);
}

#define UPDATE(bits, type, name, builtin)                                                  \
  type __tsan_atomic##bits##_##name(volatile type *word, type value, int mode) {          \
    step(word);                                                                            \
    order(word, mode);                                                                     \
    return builtin(word, value, __ATOMIC_SEQ_CST);                                         \
  }

#define ATOMIC(bits, type)                                                                 \
  type __tsan_atomic##bits##_load(const volatile type *word, int mode) {                   \
    step(word);                                                                            \
    explorer_atomic(word, acquires(mode), 0, 0);                                           \
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);                                        \
  }                                                                                        \
  void __tsan_atomic##bits##_store(volatile type *word, type value, int mode) {            \
    step(word);                                                                            \
    explorer_atomic(word, 0, releases(mode), 1);                                           \
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);                                       \
  }                                                                                        \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type *word, type expected,      \
                                                  type desired, int mode, int failed) {    \
    step(word);                                                                            \
    type found = expected;                                                                 \
    int done = __atomic_compare_exchange_n(word, &found, desired, 0, __ATOMIC_SEQ_CST,     \
                                           __ATOMIC_SEQ_CST);                              \
    if (done) order(word, mode); else explorer_atomic(word, acquires(failed), 0, 0);       \
    return found;                                                                          \
  }                                                                                        \
  UPDATE(bits, type, exchange, __atomic_exchange_n)                                        \
  UPDATE(bits, type, fetch_add, __atomic_fetch_add)                                        \
  UPDATE(bits, type, fetch_sub, __atomic_fetch_sub)                                        \
  UPDATE(bits, type, fetch_and, __atomic_fetch_and)                                        \
  UPDATE(bits, type, fetch_or, __atomic_fetch_or)                                          \
  UPDATE(bits, type, fetch_xor, __atomic_fetch_xor)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int mode) { (void)mode; }

// ---- Plain memory.

static void plain(const void *address, uintptr_t size, int writes, const void *caller) {
  struct explorer_place *here = &explorer_here;
  if (here->run == NULL || here->quiet || here->ignores || is_static(address)) return;
  // What stands on the thread's own stack is its own, as far as its own accesses go.
  uintptr_t at = (uintptr_t)address;
  if (at < here->stack && at > (uintptr_t)__builtin_frame_address(0)) return;
  explorer_plain(address, size, writes, caller);
}

#define CALLER __builtin_return_address(0)

#define PLAIN(size)                                                                        \
  void __tsan_read##size(const void *address) { plain(address, size, 0, CALLER); }         \
  void __tsan_write##size(const void *address) { plain(address, size, 1, CALLER); }        \
  void __tsan_unaligned_read##size(const void *address) { plain(address, size, 0, CALLER); }  \
  void __tsan_unaligned_write##size(const void *address) { plain(address, size, 1, CALLER); } \
  void __tsan_read_write##size(const void *address) { plain(address, size, 1, CALLER); }   \
  void __tsan_unaligned_read_write##size(const void *address) { plain(address, size, 1, CALLER); }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void *__tsan_memcpy(void *to, const void *from, uintptr_t size) {
  plain(from, size, 0, CALLER);
  plain(to, size, 1, CALLER);
  return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, uintptr_t size) {
  plain(from, size, 0, CALLER);
  plain(to, size, 1, CALLER);
  return memmove(to, from, size);
}

void *__tsan_memset(void *to, int value, uintptr_t size) {
  plain(to, size, 1, CALLER);
  return memset(to, value, size);
}

// Round what an object's end does: the counts of its references, which order it after all else, are not seen here.
void __tsan_ignore_thread_begin(void) { explorer_here.ignores++; }
void __tsan_ignore_thread_end(void) { explorer_here.ignores--; }

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_external_read(void *address, void *caller, void *tag) { (void)address, (void)caller, (void)tag; }
void __tsan_external_write(void *address, void *caller, void *tag) { (void)address, (void)caller, (void)tag; }

// What is made once for the whole process is made in one run only, so that its steps can't be chosen.
void swift_once(void *predicate, void (*make)(void *), void *context) {
  static void (*real)(void *, void (*)(void *), void *);
  if (real == NULL) real = (void (*)(void *, void (*)(void *), void *))dlsym(RTLD_NEXT, "swift_once");
  explorer_here.quiet++;
  real(predicate, make, context);
  explorer_here.quiet--;
}
