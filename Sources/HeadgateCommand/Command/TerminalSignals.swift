import CHeadgate
import HeadgateLibC

/// Gives the process's terminal its echo back if a signal ends the process during a prompt. One at a time.
struct TerminalSignals {
  // Written before the handlers are installed, and read by them alone.
  nonisolated(unsafe) private static let usual = UnsafeMutablePointer<termios>.allocate(capacity: 1)
  // The same.
  nonisolated(unsafe) private static var terminal: Int32 = -1

  /// The signals whose effect has changed, and their handlers before that. Nil stands for the default effect.
  private var earlier: [(number: Int32, handler: (@convention(c) (Int32) -> Void)?)] = []

  /// - Parameter terminal: Its descriptor, before the echo is switched off.
  init(restoring terminal: Int32) {
    guard tcgetattr(terminal, Self.usual) == 0 else { return }
    Self.terminal = terminal
    for number in [SIGINT, SIGTERM, SIGHUP] where headgate_signal_is_ignored(number) == 0 {
      let handler = signal(number) { number in
        _ = tcsetattr(TerminalSignals.terminal, TCSANOW, TerminalSignals.usual)
        // The signal then has its usual effect, once this handler has returned.
        signal(number, SIG_DFL)
        raise(number)
      }
      earlier.append((number, handler))
    }
  }

  /// Gives the signals their earlier effects.
  func end() { for (number, handler) in earlier { signal(number, handler) } }
}
