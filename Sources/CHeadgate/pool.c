#include "CHeadgate.h"

static _Thread_local void *top_frame;

void *headgate_pool_frame_get(void) { return top_frame; }
void headgate_pool_frame_set(void *frame) { top_frame = frame; }
