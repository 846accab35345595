#include "include/CHeadgate.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEADGATE_THREAD_SANITIZER
#endif
#endif

#if defined(HEADGATE_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>

// Swift's runtime releases the task's address before every resume; it acquires it only where a job begins to run.
void headgate_task_resumed(uintptr_t task) { __tsan_acquire((void *)task); }
#else
void headgate_task_resumed(uintptr_t task) { (void)task; }
#endif
