import HeadgateDispatch
import HeadgateThreads

/// Writes lines to a descriptor on its own thread, in the order of the calls, so that a paused terminal or a slow disk
/// never stops a transfer.
///
/// On a terminal it can keep status lines below the scrolling lines. It erases them before anything else is written,
/// and writes them again after it, in a single write.
final class LineWriter: Sendable {
  private static let mostBehind = 1 << 20

  private struct State {
    var pending: [UInt8] = []
    var isScheduled = false
    var status: [String] = []
    var shown: [String] = []
    /// Whether the status lines are hidden, while the process is about to be suspended.
    var isHeld = false
    var hasEnded = false
    var failure: SystemError?
  }

  private let descriptor: Int32
  private let isJSON: Bool
  private let columns: @Sendable () -> Int?
  private let lane: SerialLane
  private let state = Locked(State())

  /// - Parameters:
  ///   - isJSON: Whether messages are written as JSON objects, one per line.
  ///   - columns: Returns the terminal's current width, or nil for other descriptors. Called only if there is a status
  ///     line.
  init(_ descriptor: Int32, on crew: LaneCrew, isJSON: Bool = false, columns: (@Sendable () -> Int?)? = nil) {
    self.descriptor = descriptor
    self.isJSON = isJSON
    self.columns = columns ?? { Descriptor.columns(descriptor) }
    self.lane = SerialLane(on: crew)
  }

  /// The first error. Nothing is written after it.
  var failure: SystemError? { state.withLock { $0.failure } }

  /// Whether so much output is pending that callers should wait, with ``flush()``.
  var isBehind: Bool { state.withLock { $0.pending.count > Self.mostBehind } }

  /// Adds text, with its line feeds.
  func write(_ text: String) {
    change { $0.pending += text.utf8 }
  }

  /// Adds messages for people, one per line, each with its line feed.
  func tell(_ lines: String) {
    guard isJSON else { return write(lines) }
    let objects = lines.split(separator: "\n").map { text in
      var line = JSONLine()
      line.add("event", "message")
      line.add("text", String(text))
      return line.line
    }
    write(objects.joined())
  }

  /// Replaces the status lines. An empty array erases them. For terminals only.
  func show(status: [String]) {
    change { if !$0.hasEnded { $0.status = status } }
  }

  /// Erases the status lines for good. Later calls of `show` have no effect.
  func endStatus() {
    change { state in
      state.hasEnded = true
      state.status = []
    }
  }

  /// Erases the status lines until ``releaseStatus()``. Call ``flush()`` after it.
  func holdStatus() { change { $0.isHeld = true } }

  /// Shows the status lines again. Old ones are not erased, since other processes may have written to the terminal.
  func releaseStatus() {
    change { state in
      state.isHeld = false
      state.shown = []
    }
  }

  /// Suspends until all earlier text has been written.
  func flush() async {
    await withContinuation { continuation in
      lane.run { [self] in
        drain()
        continuation.resume()
      }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let mustSchedule = state.withLock { state in
      body(&state)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { lane.run { [self] in drain() } }
  }

  private func drain() {
    let bytes = state.withLock { state -> [UInt8] in
      defer {
        state.pending = []
        state.isScheduled = false
      }
      guard state.failure == nil else { return [] }
      return Self.bytes(&state, columns)
    }
    guard !bytes.isEmpty else { return }
    do throws(SystemError) {
      try Descriptor.write(bytes, to: descriptor)
    } catch {
      state.withLock { $0.failure = error }
    }
  }

  private static func bytes(_ state: inout State, _ columns: () -> Int?) -> [UInt8] {
    let status = state.isHeld ? [] : state.status
    guard !state.pending.isEmpty || status != state.shown else { return [] }
    let eraser = state.shown.isEmpty ? "" : eraser(of: state.shown, columns: columns() ?? .max)
    state.shown = status
    return Array(eraser.utf8) + state.pending + Array(status.joined(separator: "\n").utf8)
  }

  /// The escape sequence that erases status lines: it moves to the start of the first one and clears from there. If the
  /// terminal has become narrower than a line, that line is wrapped and takes several rows.
  ///
  /// Some terminals (xterm) cut lines instead of wrapping them, and can't be told apart. There a few lines above the
  /// status may be erased when the width changes. The alternative is worse: other terminals would keep a stale status.
  static func eraser(of lines: [String], columns: Int) -> String {
    let rows = lines.reduce(-1) { rows, line in
      rows + 1 + max(0, DisplayWidth.ofPainted(line) - 1) / max(1, columns)
    }
    return (rows > 0 ? "\u{1B}[\(rows)A" : "") + "\r\u{1B}[J"
  }
}
