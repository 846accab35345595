#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

int headgate_rename_exclusively(const char *from, const char *to) {
#if defined(__linux__)
  const unsigned int no_replace = 1;  // RENAME_NOREPLACE, which musl's headers lack
  return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, no_replace) == 0 ? 0 : errno;
#else
  return renamex_np(from, to, RENAME_EXCL) == 0 ? 0 : errno;
#endif
}

int headgate_set_modified(int descriptor, int64_t seconds) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds}};
  return futimens(descriptor, times) == 0 ? 0 : errno;
}

int headgate_signal_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void headgate_start_writing(int descriptor) {
#if defined(__linux__)
  sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
  (void)descriptor;
#endif
}
