import HeadgateLibC
import HeadgateThreads

extension FetchRun {
  /// How long the second interrupt waits for disks and readers that may hang.
  private static let patience = Duration.seconds(2)

  /// For the process itself: interrupts the run, and ends the process if the run does not end in time.
  func interrupted() {
    if interrupt() == .atOnce {
      _ = TimerThread.shared.schedule(at: .after(Self.patience)) { _exit(ExitStatus.interrupted.rawValue) }
    }
  }
}
