// Threads: starting and joining them, their stack, name and priority, and their thread-local words.
#ifndef HEADGATE_THREAD_H
#define HEADGATE_THREAD_H

#include <stddef.h>
#include <stdint.h>
#if defined(__APPLE__)
#include <pthread.h>
#endif

// A thread's value for one ThreadLocal. The key is the ThreadLocal's number, which is never reused, unlike its slot in
// the table. `older` and `newer` link the values in the order of their creation (-1: none).
struct headgate_local {
  uint64_t key;
  void *value;
  void *owner;
  intptr_t older, newer;
};

// The library's data about one thread; accessed only by that thread once it is current.
struct headgate_thread {
  void *record;  // the ThreadRecord that this belongs to
  struct headgate_local *locals;
  uintptr_t capacity;
  intptr_t newest;
};

// The calling thread's data, or NULL. `destroy` (of headgate_thread_set_current) is called with it if the thread exits
// while it is set, also on foreign threads; it is still set during the call. If later destructors set it again, it is
// called again, a few times (PTHREAD_DESTRUCTOR_ITERATIONS).
//
// Linux: thread-local storage, one or two instructions. Apple: the thread-specific value itself, which is as fast there
// and stays valid longer than thread-local storage while the thread exits.
#if defined(__APPLE__)
extern pthread_key_t headgate_thread_key;
static inline struct headgate_thread *headgate_thread_current(void) {
  return (struct headgate_thread *)pthread_getspecific(headgate_thread_key);
}
#else
extern _Thread_local struct headgate_thread *headgate_current;
static inline struct headgate_thread *headgate_thread_current(void) { return headgate_current; }
#endif

// `is_own`: a thread of headgate_thread_create, which clears it before it ends; pthread_exit is detected in another
// way.
void headgate_thread_set_current(struct headgate_thread *thread, int is_own, void (*destroy)(struct headgate_thread *));
void headgate_thread_clear_current(void);

// The calling thread's value in a slot of the table, if it has one there with this key.
static inline void *headgate_local_get(uintptr_t place, uint64_t key) {
  struct headgate_thread *thread = headgate_thread_current();
  if (thread == NULL || place >= thread->capacity) return NULL;
  struct headgate_local *local = &thread->locals[place];
  return local->key == key ? local->value : NULL;
}

// The attributes of a new thread. Zero everywhere means the system's defaults and the creating thread's properties.
struct headgate_thread_attributes {
  size_t stack;  // bytes, a multiple of the page size
  int detached;
  int blocks_signals;  // all but those of the thread's own faults, from its first line on
  unsigned quality;    // Apple: a qos_class_t
};

// Starts a thread; the body must be the same function in all calls. Returns 0 or an errno value: EAGAIN (no more
// threads, or no memory for the stack), EINVAL. If the body exits through pthread_exit, its headgate_thread is
// destroyed.
int headgate_thread_create(uintptr_t *thread, const struct headgate_thread_attributes *attributes,
                           void (*body)(void *), void *context);

// The calling thread's system handle, and the number by which `ps -L` and `top -H` show a living thread.
uintptr_t headgate_thread_self(void);
uint64_t headgate_thread_system_number(uintptr_t thread);
int headgate_thread_is_main(void);

// Waits for the thread's end, after which its stack is released; or releases it automatically at its end. Once per
// joinable thread.
void headgate_thread_join(uintptr_t thread);
void headgate_thread_detach(uintptr_t thread);

// Joins a thread that is about to exit if it has exited, without waiting. Returns whether it has. Always 0 on Apple's
// systems.
int headgate_thread_try_join(uintptr_t thread);

// The size of a living thread's stack in bytes; 0 if the system does not tell.
size_t headgate_thread_stack(uintptr_t thread);

// The minimum stack size that the system accepts, the page size, and the memory size, in bytes.
size_t headgate_stack_minimum(void);

// Where the caller's stack ends now. The address of a local variable may lie: the address sanitizer keeps such variables
// elsewhere.
uintptr_t headgate_stack_here(void);
size_t headgate_page(void);
uint64_t headgate_memory(void);

// Sets the calling thread's name. The system refuses a name that is too long, so truncate it before.
void headgate_thread_name(const char *name);
// A living thread's name.
void headgate_thread_get_name(uintptr_t thread, char *buffer, size_t size);

// The scheduling of a living thread by its system number; Apple: of the calling thread only, and without nice values.
// Setting a nice value also sets the ordinary policy. Returns 0 or an errno value: EPERM or EACCES for missing rights.
int headgate_set_nice(uint64_t number, int nice);
int headgate_set_policy(uint64_t number, int policy, int level);
int headgate_get_priority(uint64_t number, int *policy, int *level, int *nice);

// The kind of the calling thread: foreign (0), the library's (1), or the library's and needed by other threads (2).
enum { headgate_role_foreign = 0, headgate_role_own = 1, headgate_role_service = 2 };
int headgate_thread_role(void);
void headgate_thread_set_role(int role);

#if defined(__APPLE__)
// The functions that compilers emit for @autoreleasepool.
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);
#endif

#endif
