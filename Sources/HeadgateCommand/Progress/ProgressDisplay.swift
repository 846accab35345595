import HeadgateDispatch
import HeadgateThreads

/// Shows the progress of a run, as a panel that is redrawn a few times a second or as periodic lines.
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
    // According to no-color.org, an empty variable has no effect.
    hasColours = (Descriptor.environment("NO_COLOR") ?? "").isEmpty
  }

  /// Sets the source of the state, which is called for each update. `ended` counts only URLs that were requested.
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

  /// Stops the display. The console erases the panel. In `json` mode a last object is written.
  func stop() {
    let timer = state.withLock { state in
      state.isRunning = false
      return state.timer.take()
    }
    timer?.cancel()
    if mode == .json { show() }
  }

  /// Suspends until all that was shown has been written. Returns the first error.
  func flush() async -> SystemError? {
    await console.flush()
    return console.failure
  }

  /// Redraws after the terminal's size has changed or the process was continued.
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
    // In the background, a panel would overwrite the text of the shell and of other jobs.
    if Descriptor.isInBackground(descriptor) { return [] }
    let (columns, rows) = Descriptor.terminalSize(descriptor) ?? (80, 24)
    return ProgressPanel(width: columns, height: rows, hasColours: hasColours).lines(shown)
  }
}

/// How many URLs end per second, averaged over a window that is long enough to be steady and short enough to show a
/// pause.
struct ProgressRate: Equatable, Sendable {
  static let window = 15.0

  private var samples: [(seconds: Double, count: Int)] = []

  static func == (left: ProgressRate, right: ProgressRate) -> Bool {
    left.samples.elementsEqual(right.samples) { $0 == $1 }
  }

  /// Nil during the first second, and until a URL has ended.
  private(set) var value: Double?

  /// - Parameters:
  ///   - count: URLs that ended, without those that were complete before the run.
  ///   - seconds: The time since the beginning. It never decreases.
  mutating func add(_ count: Int, at seconds: Double) {
    samples.append((seconds, count))
    // Keeps one sample older than the window, so that the window is full.
    while samples.count > 2, samples[1].seconds <= seconds - Self.window { samples.removeFirst() }
    let first = samples[0]
    guard seconds - first.seconds >= 1, count > 0 else { return value = nil }
    value = Double(count - first.count) / (seconds - first.seconds)
  }
}
