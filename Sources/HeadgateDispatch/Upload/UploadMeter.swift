import HeadgateThreads

/// The count of what one request sends, over all its exchanges.
final class UploadMeter: Sendable {
  private struct State {
    var count = UploadCount()
    var lastSent = Deadline.distantPast
    // Over all the times that it is sent.
    var total: Int64 = 0
    // How often the transport had room and nothing was there.
    var waits = 0
  }

  private let core: DispatchCore
  private let state = Locked(State())

  init(_ core: DispatchCore) { self.core = core }

  /// Whether the transport has all of it.
  var isSent: Bool { state.withLock { $0.count.isSent } }

  /// When something was sent last.
  var lastSent: Deadline { state.withLock { $0.lastSent } }

  /// How much was sent in all, over all the times that it is sent, and how often it was not there to be sent.
  var flow: (sent: Int64, waits: Int) { state.withLock { ($0.total, $0.waits) } }

  fileprivate func waits() { state.withLock { $0.waits += 1 } }

  fileprivate func begin(total: Int64?) { state.withLock { $0.count.begin(total: total) } }

  fileprivate func sent(_ count: Int) -> UploadProgress? {
    let now = core.now
    return state.withLock { state in
      state.lastSent = now
      state.total &+= Int64(count)
      return state.count.add(Int64(count))
    }
  }

  fileprivate func sentAll(_ total: Int64) -> UploadProgress? {
    let now = core.now
    return state.withLock { state in
      state.lastSent = now
      let rest = max(0, total - state.count.sent)
      state.total &+= rest
      let news = state.count.add(rest)
      return state.count.end() ?? news
    }
  }

  fileprivate func ended() -> UploadProgress? { state.withLock { $0.count.end() } }
}

/// The count, and who hears of it during one exchange.
struct UploadReport: Sendable {
  let meter: UploadMeter
  /// Called with no lock held, by the thread that takes the bytes.
  let tell: @Sendable (UploadProgress) -> Void

  func begin(total: Int64?) { meter.begin(total: total) }
  func sent(_ count: Int) { if let news = meter.sent(count) { tell(news) } }
  func sentAll(_ total: Int64) { if let news = meter.sentAll(total) { tell(news) } }
  func waits() { meter.waits() }
  func ended() { if let news = meter.ended() { tell(news) } }
}
