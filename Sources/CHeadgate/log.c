#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <pthread.h>

static _Thread_local int depth;

int headgate_log_depth(void) { return depth; }
void headgate_set_log_depth(int new_depth) { depth = new_depth; }

void headgate_log_thread_name(char *buffer, size_t size) {
  buffer[0] = 0;
  if (pthread_getname_np(pthread_self(), buffer, size) != 0) buffer[0] = 0;
}
