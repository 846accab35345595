import HeadgateLibC
import HeadgateThreads

extension FetchRun {
  /// How long the second interrupt waits for disks and readers that may hang. An orderly end takes seconds too on a
  /// busy machine.
  static let patience = Duration.seconds(5)

  /// For the process itself: interrupts the run, and ends the process if the run does not end in time.
  func interrupted() {
    if interrupt() == .atOnce {
      _ = TimerThread.shared.schedule(at: .after(Self.patience)) { _exit(ExitStatus.interrupted.rawValue) }
    }
  }
}
