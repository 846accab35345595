import HeadgateThreads

/// Measures one request's response for its size and speed limits. Only a request with such a limit has a meter.
final class DownloadMeter: Sendable {
  private struct State {
    // Body bytes of the current response delivered so far.
    var taken = 0
    // The number of exchanges and waits so far. An interval lies within one of them.
    var turn = 0
    // The current interval: the bytes received, and at its start the bytes sent and the number of interruptions.
    var came: Int64 = 0
    var sent: Int64 = 0
    var interruptions = 0
    var timer: TimerQueue.Key?
    var isOver = false
  }

  let speed: TransferSpeed?
  private let most: Int?
  private let state = Locked(State())

  init(_ fields: RequestFields) {
    speed = fields.rare.minimumSpeed
    most = fields.rare.maxDownloadBytes
  }

  // MARK: Size

  /// Checks the declared length of a response whose head is being delivered.
  ///
  /// - Parameter hasBody: Whether the declared body follows.
  func take(_ head: ResponseHead, hasBody: Bool) throws(DispatchError) {
    state.withLock { $0.taken = 0 }
    guard let most, hasBody, let declared = head.declaredLength, declared > most else { return }
    throw DispatchError(
      .bodyTooLarge, phase: .receiving, detail: "the declared length is \(declared) bytes, the limit \(most)")
  }

  /// Counts body bytes being delivered.
  func take(_ bytes: Int) throws(DispatchError) {
    guard let most else { return }
    let isTooMuch = state.withLock { state in
      guard bytes <= most - state.taken else { return true }
      state.taken += bytes
      return false
    }
    if isTooMuch { throw DispatchError(.bodyTooLarge, phase: .receiving, detail: "over \(most) bytes") }
  }

  // MARK: Speed

  /// Counts bytes received, whether they are delivered or discarded.
  func came(_ bytes: Int) { if speed != nil { state.withLock { $0.came &+= Int64(bytes) } } }

  /// The exchange continues after a wait, so the current interval is not judged.
  func turns() { if speed != nil { state.withLock { $0.turn += 1 } } }

  /// Ends the current interval, and begins the next. Returns whether too little data moved in the one that ended.
  ///
  /// - Parameters:
  ///   - sent: The bytes of the request body sent so far.
  ///   - interruptions: How often the request body had no data ready to send, or the consumer resumed the transfer.
  ///   - isHeld: Whether the transfer is now paused by its consumer, stalled by the request body, or waiting.
  func isTooSlow(sent: Int64, interruptions: Int, isHeld: Bool) -> Bool {
    guard let speed else { return false }
    return state.withLock { state in
      let old = state
      (state.came, state.sent, state.interruptions) = (0, sent, interruptions + state.turn)
      // All of these counters only grow.
      guard !isHeld, state.interruptions == old.interruptions else { return false }
      return Double(old.came) + Double(sent - old.sent) < speed.bytesPerInterval
    }
  }

  /// Stores the timer of the next check. Returns it if the request is over.
  func keep(_ timer: TimerQueue.Key) -> TimerQueue.Key? {
    state.withLock { state in
      guard !state.isOver else { return timer }
      state.timer = timer
      return nil
    }
  }

  /// An exchange begins, so the current interval is not judged. Returns true for the first exchange, with which the
  /// first interval begins: the caller must then schedule the check at the interval's end.
  func begins() -> Bool {
    guard speed != nil else { return false }
    return state.withLock { state in
      state.turn += 1
      guard state.turn == 1 else { return false }
      state.interruptions = 1
      return true
    }
  }

  /// The request is over. Returns the timer to cancel.
  func end() -> TimerQueue.Key? {
    state.withLock { state in
      state.isOver = true
      return state.timer.take()
    }
  }
}
