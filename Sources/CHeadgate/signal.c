#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CHeadgate.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

static volatile sig_atomic_t relay_descriptor = -1;
static volatile sig_atomic_t relay_marks = 0;

// Signals that a terminal sends come from the system.
static int is_from_system(const siginfo_t *info) {
#if defined(__linux__)
  return info->si_code == SI_KERNEL;
#else
  return info->si_pid == 0;
#endif
}

// Calls only what a handler may call.
static void relay(int number, siginfo_t *info, void *context) {
  (void)context;
  int before = errno;
  unsigned char note = (unsigned char)number;
  if (relay_marks && is_from_system(info)) note |= 0x80;
  // If the pipe is full, as many signals are on their way already.
  ssize_t count = write((int)relay_descriptor, &note, 1);
  (void)count;
  errno = before;
}

void headgate_relay_signal(int number, int descriptor) {
  if (number != SIGCHLD && headgate_signal_is_ignored(number)) return;
  relay_descriptor = descriptor;
  struct sigaction action = {.sa_sigaction = relay, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigfillset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

void headgate_relay_marks(int marks) { relay_marks = marks; }

void headgate_die_of_signal(int number) {
  // The other process has dumped its memory already.
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__)
  // A program that gets all dumps, as core_pattern says, gets them whatever the limit is.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigaction(number, &action, NULL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  // To this thread: otherwise another one might take it later.
  raise(number);
}
