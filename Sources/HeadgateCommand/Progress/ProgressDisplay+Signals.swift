import HeadgateLibC

extension ProgressDisplay {
  /// Signal handlers for the display, for the process itself.
  ///
  /// - Parameters:
  ///   - display: Nil where no progress is shown.
  ///   - mode: How it is shown.
  ///   - console: Where it is shown.
  ///   - tell: Answers SIGUSR1.
  static func signals(
    _ display: ProgressDisplay?, _ mode: ProgressMode, on console: LineWriter, tell: @escaping @Sendable () -> Void
  ) -> [InterruptSignals] {
    var signals = [InterruptSignals(questions, tell)]
    guard mode == .full, let display else { return signals }
    signals.append(InterruptSignals([SIGWINCH]) { display.repaint() })
    signals.append(
      InterruptSignals([SIGCONT]) {
        console.releaseStatus()
        display.repaint()
      })
    signals.append(InterruptSignals([SIGTSTP]) { stop(after: console) })
    return signals
  }

  /// SIGUSR1, and where there is one the signal of Ctrl-T.
  private static var questions: [Int32] {
    #if canImport(Darwin)
    [SIGUSR1, SIGINFO]
    #else
    [SIGUSR1]
    #endif
  }

  /// Ctrl-Z: erases the panel first, so that the shell's prompt does not appear inside it.
  private static func stop(after console: LineWriter) {
    // The system ignores SIGTSTP if no shell could continue the process. SIGSTOP below would not be ignored.
    guard getpid() != 1, getsid(getppid()) == getsid(0) else { return }
    console.holdStatus()
    Task {
      await console.flush()
      kill(getpid(), SIGSTOP)
    }
  }
}
