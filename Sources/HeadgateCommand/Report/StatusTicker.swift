import HeadgateThreads

/// Paints the status line a few times a second, and only when it changed.
final class StatusTicker: Sendable {
  private static let interval = Duration.milliseconds(250)

  private let console: LineWriter
  private let timers: any TimerService
  private let text: @Sendable () -> String
  private let timer = Locked<ScheduledTimer?>(nil)

  init(console: LineWriter, timers: any TimerService = TimerThread.shared, text: @escaping @Sendable () -> String) {
    self.console = console
    self.timers = timers
    self.text = text
    arm()
  }

  /// Paints no more. Whoever stops it erases the line.
  func stop() {
    let last = timer.withLock { $0.take() }
    last?.cancel()
  }

  private func arm() {
    let next = timers.schedule(at: timers.now + Self.interval) { [weak self] in self?.tick() }
    timer.withLock { $0 = next }
  }

  private func tick() {
    // Stopped between the timer's start and here.
    guard timer.withLock({ $0 != nil }) else { return }
    console.show(status: text())
    arm()
  }
}
