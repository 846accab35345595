// Waiting on an address, as Apple documents it (developer.apple.com/documentation/os). zig's copy of Apple's headers
// lacks this file.
#ifndef OS_SYNC_WAIT_ON_ADDRESS_H
#define OS_SYNC_WAIT_ON_ADDRESS_H

#include <Availability.h>
#include <os/base.h>
#include <os/clock.h>
#include <stddef.h>
#include <stdint.h>

OS_OPTIONS(os_sync_wait_on_address_flags, uint32_t,
           OS_SYNC_WAIT_ON_ADDRESS_NONE = 0,
           OS_SYNC_WAIT_ON_ADDRESS_SHARED = 1);
OS_OPTIONS(os_sync_wake_by_address_flags, uint32_t,
           OS_SYNC_WAKE_BY_ADDRESS_NONE = 0,
           OS_SYNC_WAKE_BY_ADDRESS_SHARED = 1);

// The compiler warns about calls on older systems than these.
#define SINCE __API_AVAILABLE(macos(14.4), ios(17.4), tvos(17.4), watchos(10.4))
SINCE int os_sync_wait_on_address(void *addr, uint64_t value, size_t size, os_sync_wait_on_address_flags_t flags);
SINCE int os_sync_wait_on_address_with_deadline(void *addr, uint64_t value, size_t size,
                                                os_sync_wait_on_address_flags_t flags, os_clockid_t clockid,
                                                uint64_t deadline);
SINCE int os_sync_wait_on_address_with_timeout(void *addr, uint64_t value, size_t size,
                                               os_sync_wait_on_address_flags_t flags, os_clockid_t clockid,
                                               uint64_t timeout_ns);
SINCE int os_sync_wake_by_address_any(void *addr, size_t size, os_sync_wake_by_address_flags_t flags);
SINCE int os_sync_wake_by_address_all(void *addr, size_t size, os_sync_wake_by_address_flags_t flags);
#undef SINCE

#endif
