// Waiting on an address: os_sync_wait_on_address, public since macOS 14.4 and iOS 17.4. Compiled by scripts/check-apple.sh,
// and never run there.
#if defined(__APPLE__)
#include "CHeadgate.h"

#include <errno.h>
#include <mach/mach_time.h>
#include <os/os_sync_wait_on_address.h>
#include <time.h>

uint64_t headgate_now(void) { return clock_gettime_nsec_np(CLOCK_UPTIME_RAW); }

int headgate_wait(const uint32_t *word, uint32_t expected, uint64_t deadline) {
  int saved = errno;
  int answer = 0;
  if (deadline == UINT64_MAX) {
    os_sync_wait_on_address((void *)word, expected, 4, OS_SYNC_WAIT_ON_ADDRESS_NONE);
  } else {
    uint64_t now = headgate_now();
    if (deadline <= now) {
      answer = ETIMEDOUT;
    } else {
      int result = os_sync_wait_on_address_with_timeout((void *)word, expected, 4, OS_SYNC_WAIT_ON_ADDRESS_NONE,
                                                        OS_CLOCK_MACH_ABSOLUTE_TIME, deadline - now);
      if (result < 0 && errno == ETIMEDOUT) answer = ETIMEDOUT;
    }
  }
  errno = saved;
  return answer;
}

void headgate_wake_one(const uint32_t *word) {
  os_sync_wake_by_address_any((void *)word, 4, OS_SYNC_WAKE_BY_ADDRESS_NONE);
}

void headgate_wake_all(const uint32_t *word) {
  os_sync_wake_by_address_all((void *)word, 4, OS_SYNC_WAKE_BY_ADDRESS_NONE);
}
#endif
