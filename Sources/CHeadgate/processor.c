#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#if defined(__linux__)
#include <sched.h>
#endif

int headgate_processor(void) {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}
