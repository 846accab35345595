#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Signals to one thread, whose system calls they end: SIGURG, which does nothing by default.
enum SignalStorm {
  /// Has the signal call a handler that does nothing. Without SA_RESTART, so that system calls do end.
  static func install() {
    var action = sigaction()
    #if canImport(Darwin)
    action.__sigaction_u.__sa_handler = { _ in }
    #else
    action.__sigaction_handler.sa_handler = { _ in }
    #endif
    sigaction(SIGURG, &action, nil)
  }

  /// Lets the signal through to the calling thread: one that a thread of the cooperative pool started has its mask,
  /// which keeps signals out.
  static func expose() -> pthread_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGURG)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    return pthread_self()
  }

  /// One signal. The thread must be there as long as signals are sent to it.
  static func strike(_ thread: pthread_t) { pthread_kill(thread, SIGURG) }
}
