// What a thread knows of the run that it belongs to.
#ifndef EXPLORER_PLACE_H
#define EXPLORER_PLACE_H

#include "include/explorer.h"

#include <stddef.h>

struct explorer_place {
  void *run;
  int thread;
  // Above it, nothing of the explored code stands on the thread's stack.
  uintptr_t stack;
  // In code whose accesses are no steps, and in code whose plain accesses are not looked at.
  int quiet, ignores;
};

extern _Thread_local struct explorer_place explorer_here;
extern struct explorer_search explorer_by;

#endif
