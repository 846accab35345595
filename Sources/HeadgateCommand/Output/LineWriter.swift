import HeadgateThreads

/// Writes lines to a descriptor from a thread of its own, in the order they come: a terminal that is held, or a slow
/// disk, never stops a transfer.
///
/// On a terminal it can keep a status line below the lines that scroll past.
final class LineWriter: Sendable {
  private static let mostBehind = 1 << 20

  private struct State {
    var pending: [UInt8] = []
    var isScheduled = false
    var status = ""
    var shown = ""
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

  /// Shows a status line in place of the one before; an empty one erases it. For terminals only.
  func show(status: String) {
    change { $0.status = status }
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
    guard !state.pending.isEmpty || state.status != state.shown else { return [] }
    let eraser = state.shown.isEmpty ? "" : eraser(of: state.shown, columns: columns() ?? .max)
    state.shown = state.status
    return Array(eraser.utf8) + state.pending + Array(state.status.utf8)
  }

  /// What erases a status line: to its start, and from there on. A terminal that has become narrower than the line has
  /// wrapped it meanwhile, and shows it in several rows.
  static func eraser(of line: String, columns: Int) -> String {
    let rows = (line.unicodeScalars.count - 1) / max(1, columns)
    return (rows > 0 ? "\u{1B}[\(rows)A" : "") + (rows > 0 ? "\r\u{1B}[J" : "\r\u{1B}[K")
  }
}
