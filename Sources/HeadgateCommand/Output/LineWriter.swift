import HeadgateThreads

/// Writes lines to a descriptor from a thread of its own, in the order they come: a terminal that is held, or a slow
/// disk, never stops a transfer.
///
/// On a terminal it can keep status lines below the lines that scroll past. They are erased before anything else is
/// written, and written again after it, in one piece.
final class LineWriter: Sendable {
  private static let mostBehind = 1 << 20

  private struct State {
    var pending: [UInt8] = []
    var isScheduled = false
    var status: [String] = []
    var shown: [String] = []
    /// Whether the status lines may be seen: not while the process is about to stop.
    var isHeld = false
    var hasEnded = false
    var failure: SystemError?
  }

  private let descriptor: Int32
  private let columns: @Sendable () -> Int?
  private let lane: SerialLane
  private let state = Locked(State())

  /// - Parameter columns: The terminal's present width; nil: it is none. Asked only where there is a status line.
  init(_ descriptor: Int32, on crew: LaneCrew, columns: (@Sendable () -> Int?)? = nil) {
    self.descriptor = descriptor
    self.columns = columns ?? { Descriptor.columns(descriptor) }
    self.lane = SerialLane(on: crew)
  }

  /// What went wrong first. Nothing is written after it.
  var failure: SystemError? { state.withLock { $0.failure } }

  /// Whether so much waits to be written that whoever writes had better wait: ``flush()`` does.
  var isBehind: Bool { state.withLock { $0.pending.count > Self.mostBehind } }

  /// Adds text, which ends its lines itself.
  func write(_ text: String) {
    change { $0.pending += text.utf8 }
  }

  /// Shows status lines in place of those before; none erases them. For terminals only.
  func show(status: [String]) {
    change { if !$0.hasEnded { $0.status = status } }
  }

  /// Erases the status lines for good: what a late painter shows is not shown any more.
  func endStatus() {
    change { state in
      state.hasEnded = true
      state.status = []
    }
  }

  /// Erases the status lines until ``releaseStatus()``. To be followed by ``flush()``.
  func holdStatus() { change { $0.isHeld = true } }

  /// Shows the status lines again. Those that are on the terminal are left where they are: others may have written to it.
  func releaseStatus() {
    change { state in
      state.isHeld = false
      state.shown = []
    }
  }

  /// Suspends until all that was added before is written.
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

  /// What erases status lines: to the start of the first one, and from there on. A terminal that has become narrower than a
  /// line has wrapped it meanwhile, and shows it in several rows.
  ///
  /// Terminals that cut lines instead of wrapping them (xterm) are told apart by nothing: there a few lines above the
  /// status may be erased by a change of the width. To leave them would show a stale status in all others.
  static func eraser(of lines: [String], columns: Int) -> String {
    let rows = lines.reduce(-1) { rows, line in
      rows + 1 + max(0, DisplayWidth.ofPainted(line) - 1) / max(1, columns)
    }
    return (rows > 0 ? "\u{1B}[\(rows)A" : "") + "\r\u{1B}[J"
  }
}
