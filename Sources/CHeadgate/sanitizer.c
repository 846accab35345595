#include "include/CHeadgate.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEADGATE_THREAD_SANITIZER
#endif
#endif

#if defined(HEADGATE_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>

extern __attribute__((swiftcall)) void *swift_task_getCurrent(void);

// Swift's runtime releases a task's address before every resume, but acquires it only where a job begins to run.
void headgate_task_resumed(void) { __tsan_acquire(swift_task_getCurrent()); }
#else
void headgate_task_resumed(void) {}
#endif
