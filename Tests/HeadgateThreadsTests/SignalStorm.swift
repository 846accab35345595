#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Signals to one thread, which interrupt its system calls: SIGURG, which is ignored by default.
enum SignalStorm {
  /// Installs a handler that does nothing. Without SA_RESTART, so that system calls are interrupted.
  static func install() {
    var action = sigaction()
    #if canImport(Darwin)
    action.__sigaction_u.__sa_handler = { _ in }
    #else
    action.__sigaction_handler.sa_handler = { _ in }
    #endif
    sigaction(SIGURG, &action, nil)
  }

  /// Unblocks the signal on the calling thread. A thread started by the cooperative pool has its mask, which blocks
  /// signals.
  static func expose() -> pthread_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGURG)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    return pthread_self()
  }

  /// One signal. The thread must exist as long as signals are sent to it.
  static func strike(_ thread: pthread_t) { pthread_kill(thread, SIGURG) }
}
