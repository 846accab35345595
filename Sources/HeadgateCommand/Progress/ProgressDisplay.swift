import HeadgateThreads

/// Shows the progress of a run: a panel that is painted a few times a second, or a line now and then.
final class ProgressDisplay: Sendable {
  private struct State {
    var timer: ScheduledTimer?
    var isRunning = false
    var rate = ProgressRate()
    var observed: (@Sendable () -> (state: ProgressState, ended: Int))?
  }

  private let mode: ProgressMode
  private let console: LineWriter
  private let descriptor: Int32
  private let timers: any TimerService
  private let hasColours: Bool
  private let state = Locked(State())

  /// - Parameters:
  ///   - mode: Not `auto` and not `none`.
  ///   - console: Where it is shown.
  ///   - descriptor: That of the console.
  init(
    _ mode: ProgressMode, on console: LineWriter, _ descriptor: Int32, timers: any TimerService = TimerThread.shared
  ) {
    self.mode = mode
    self.console = console
    self.descriptor = descriptor
    self.timers = timers
    // By no-color.org an empty variable says nothing.
    hasColours = (Descriptor.environment("NO_COLOR") ?? "").isEmpty
  }

  /// What is to be shown: asked each time. Of the URLs that ended those are counted that were asked for.
  func observe(_ observed: @escaping @Sendable () -> (state: ProgressState, ended: Int)) {
    state.withLock { $0.observed = observed }
  }

  private var interval: Duration {
    switch mode {
    case .full: .milliseconds(250)
    case .json: .seconds(1)
    default: .seconds(5)
    }
  }

  func start() {
    state.withLock { state in
      state.isRunning = true
      state.rate.add(0, at: 0)
    }
    arm()
  }

  /// Shows no more; the panel that is there is the console's to erase. A program gets a last object.
  func stop() {
    let timer = state.withLock { state in
      state.isRunning = false
      return state.timer.take()
    }
    timer?.cancel()
    if mode == .json { show() }
  }

  /// The terminal has another size, or the process goes on.
  func repaint() {
    guard mode == .full, state.withLock({ $0.isRunning }) else { return }
    show()
  }

  private func arm() {
    let next = timers.schedule(at: timers.now + interval) { [weak self] in self?.tick() }
    let isLate = state.withLock { state in
      if state.isRunning { state.timer = next }
      return !state.isRunning
    }
    if isLate { next.cancel() }
  }

  private func tick() {
    guard state.withLock({ $0.isRunning }) else { return }
    show()
    arm()
  }

  private func show() {
    guard let observed = state.withLock({ $0.observed }) else { return }
    var (shown, ended) = observed()
    shown.rate = state.withLock { state in
      state.rate.add(ended, at: shown.seconds)
      return state.rate.value
    }
    switch mode {
    case .full: console.show(status: panel(shown))
    case .json: console.write(shown.json)
    default: console.write("headgate: \(shown.plain)\n")
    }
  }

  private func panel(_ shown: ProgressState) -> [String] {
    // A panel would be painted over what the shell and other jobs write.
    if Descriptor.isInBackground(descriptor) { return [] }
    let (columns, rows) = Descriptor.terminalSize(descriptor) ?? (80, 24)
    return ProgressPanel(width: columns, height: rows, hasColours: hasColours).lines(shown)
  }
}
