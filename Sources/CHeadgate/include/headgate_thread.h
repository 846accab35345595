// Threads: starting and joining them, their stack, name and priority, and the words that each of them has for itself.
#ifndef HEADGATE_THREAD_H
#define HEADGATE_THREAD_H

#include <stddef.h>
#include <stdint.h>
#if defined(__APPLE__)
#include <pthread.h>
#endif

// A value that a thread keeps for one ThreadLocal. The key is the ThreadLocal's number, never given twice, since its
// place in the table is given again. `older` and `newer` chain the values in the order of their creation (-1: none).
struct headgate_local {
  uint64_t key;
  void *value;
  void *owner;
  intptr_t older, newer;
};

// What the library keeps for one thread; touched by that thread alone, as soon as it is current.
struct headgate_thread {
  void *record;  // the ThreadRecord that this belongs to
  struct headgate_local *locals;
  uintptr_t capacity;
  intptr_t newest;
};

// The calling thread's, or NULL. `headgate_thread_destroy` is called with it when the thread exits with it set, also on
// threads that others started, and still finds it set. When destructors that run later set it anew, it is called again,
// a few times (PTHREAD_DESTRUCTOR_ITERATIONS).
//
// Linux: thread-local storage, one or two instructions. Apple: the thread-specific value itself, which costs no more
// there and outlives thread-local storage while the thread exits.
#if defined(__APPLE__)
extern pthread_key_t headgate_thread_key;
static inline struct headgate_thread *headgate_thread_current(void) {
  return (struct headgate_thread *)pthread_getspecific(headgate_thread_key);
}
#else
extern _Thread_local struct headgate_thread *headgate_current;
static inline struct headgate_thread *headgate_thread_current(void) { return headgate_current; }
#endif

// `is_own`: a thread of headgate_thread_create, which clears it before its end and is told apart when it doesn't.
void headgate_thread_set_current(struct headgate_thread *thread, int is_own, void (*destroy)(struct headgate_thread *));
void headgate_thread_clear_current(void);

// The calling thread's value in a place of the table, if it is there under this key.
static inline void *headgate_local_get(uintptr_t place, uint64_t key) {
  struct headgate_thread *thread = headgate_thread_current();
  if (thread == NULL || place >= thread->capacity) return NULL;
  struct headgate_local *local = &thread->locals[place];
  return local->key == key ? local->value : NULL;
}

// How a thread is made. Zero everywhere means as the system does by default, and as the creating thread is.
struct headgate_thread_attributes {
  size_t stack;  // bytes, a multiple of the page
  int detached;
  unsigned quality;  // Apple: a qos_class_t
};

// Starts a thread; the body is the same function each time. Returns 0 or an errno value: EAGAIN (no more threads, or no
// memory for the stack), EINVAL. A body that leaves through pthread_exit has its headgate_thread destroyed.
int headgate_thread_create(uintptr_t *thread, const struct headgate_thread_attributes *attributes,
                           void (*body)(void *), void *context);

// The calling thread as the system knows it, and the number by which `ps -L` and `top -H` show a living thread.
uintptr_t headgate_thread_self(void);
uint64_t headgate_thread_system_number(uintptr_t thread);
int headgate_thread_is_main(void);

// Waits for the thread's end, after which its stack is gone; or lets it go when it ends. Once for a joinable thread.
void headgate_thread_join(uintptr_t thread);
void headgate_thread_detach(uintptr_t thread);

// Whether a thread that is about to exit has done so, without waiting; then it is joined. Always false on Apple's systems.
int headgate_thread_try_join(uintptr_t thread);

// The bytes of a living thread's stack, 0 if the system does not tell.
size_t headgate_thread_stack(uintptr_t thread);

// The least stack that the system takes, and its page, in bytes.
size_t headgate_stack_minimum(void);
size_t headgate_page(void);
uint64_t headgate_memory(void);

// The calling thread's name. What is too long for the system is refused by it: cut before.
void headgate_thread_name(const char *name);
// A living thread's name.
void headgate_thread_get_name(uintptr_t thread, char *buffer, size_t size);

// The scheduling of a living thread by its system number; Apple: of the calling one, and no nice value. A nice value
// brings the ordinary policy with it. Return 0 or an errno value: EPERM and EACCES where the rights are missing.
int headgate_set_nice(uint64_t number, int nice);
int headgate_set_policy(uint64_t number, int policy, int level);
int headgate_get_priority(uint64_t number, int *policy, int *level, int *nice);

// What kind of thread the calling one is: not ours (0), ours (1), or one of ours that serves others (2).
enum { headgate_role_foreign = 0, headgate_role_own = 1, headgate_role_service = 2 };
int headgate_thread_role(void);
void headgate_thread_set_role(int role);

#if defined(__APPLE__)
// What compilers emit for @autoreleasepool.
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);
#endif

#endif
