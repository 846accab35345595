import HeadgateThreads

/// Counts what one request sends, over all of its exchanges.
final class UploadMeter: Sendable {
  private struct State {
    var count = ProgressCount()
    var lastSent = Deadline.distantPast
    // Bytes sent over all exchanges.
    var total: Int64 = 0
    // How often the transport had room and the body had no data.
    var waits = 0
  }

  private let core: DispatchCore
  private let state = Locked(State())

  init(_ core: DispatchCore) { self.core = core }

  /// Whether the transport has the whole body.
  var isSent: Bool { state.withLock { $0.count.isWhole } }

  /// When bytes were last sent.
  var lastSent: Deadline { state.withLock { $0.lastSent } }

  /// Bytes sent over all exchanges, and how often the body had no data ready.
  var flow: (sent: Int64, waits: Int) { state.withLock { ($0.total, $0.waits) } }

  func waits() { state.withLock { $0.waits += 1 } }

  func begin(total: Int64?) { state.withLock { $0.count.begin(total: total) } }

  func sent(_ count: Int64) -> TransferProgress? {
    let now = core.now
    return state.withLock { state in
      state.lastSent = now
      state.total &+= count
      return state.count.add(count)
    }
  }

  func sentAll(_ total: Int64) -> TransferProgress? {
    let news = sent(max(0, total - state.withLock { $0.count.bytes }))
    return ended() ?? news
  }

  func ended() -> TransferProgress? { state.withLock { $0.count.end() } }
}

/// The meter, and the listener during one exchange.
struct UploadReport: Sendable {
  let meter: UploadMeter
  /// The bandwidth limits; nil if none applies.
  var throttle: Throttle?
  /// Called with no lock held, on the thread that takes the bytes.
  let tell: @Sendable (TransferProgress) -> Void

  /// Updates the meter and reports progress, if there is any to report.
  func tell(after count: (UploadMeter) -> TransferProgress?) {
    let before = throttle == nil ? 0 : meter.flow.sent
    let news = count(meter)
    if let throttle, case let moved = meter.flow.sent - before, moved > 0 { throttle.flow.moved(Int(moved)) }
    if let news { tell(news) }
  }
}
