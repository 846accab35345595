import HeadgateThreads

/// Counts what comes of one request's response, for its limits on size and speed. Only a request with such a limit has
/// one.
final class DownloadMeter: Sendable {
  /// What a span began with. All of it only grows, so that a difference says what happened meanwhile.
  struct Mark: Equatable {
    /// Bytes of the request's body that were sent.
    var sent: Int64 = 0
    /// How often that body was not there to be sent.
    var waits = 0
    /// How often the consumer let the transfer go on.
    var resumes = 0
    /// Exchanges and waits for sockets: a span is of one of them.
    var turn = 0
  }

  private struct State {
    // Handed over of the present response.
    var taken = 0
    // In the present span.
    var came: Int64 = 0
    var begin = Mark()
    var turn = 0
    var timer: TimerQueue.Key?
    var isOver = false
  }

  let speed: TransferSpeed?
  private let most: Int?
  private let state = Locked(State())

  init(_ fields: RequestFields) {
    speed = fields.leastSpeed
    most = fields.maxDownloadBytes
  }

  // MARK: Size

  /// The response's head is handed over.
  ///
  /// - Parameter hasBody: Whether what it declares is to come.
  func take(_ head: ResponseHead, hasBody: Bool) throws(DispatchError) {
    state.withLock { $0.taken = 0 }
    guard let most, hasBody, let declared = head.declaredLength, declared > most else { return }
    throw DispatchError(
      .bodyTooLarge, phase: .receiving, detail: "\(declared) bytes are announced, at most \(most) are taken")
  }

  /// So many bytes of the body are handed over.
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

  /// So many bytes came, whatever becomes of them.
  func came(_ bytes: Int) { if speed != nil { state.withLock { $0.came &+= Int64(bytes) } } }

  /// The exchange goes on after a wait: the present span does not count.
  func turns() { if speed != nil { state.withLock { $0.turn += 1 } } }

  /// Whether a span is over in which too little came; begins the next one.
  ///
  /// - Parameters:
  ///   - mark: How things stand now.
  ///   - isHeld: Whether the consumer or the request's body holds the transfer now, or the request waits.
  func isTooSlow(_ mark: Mark, isHeld: Bool) -> Bool {
    guard let speed else { return false }
    return state.withLock { state in
      var mark = mark
      mark.turn = state.turn
      let (came, begin) = (state.came, state.begin)
      (state.came, state.begin) = (0, mark)
      guard !isHeld, mark.turn == begin.turn, mark.resumes == begin.resumes, mark.waits == begin.waits else {
        return false
      }
      return Double(came) + Double(mark.sent - begin.sent) < speed.bytesInSpan
    }
  }

  /// Takes the timer of the next look into keeping. Returns it when the request is over.
  func keep(_ timer: TimerQueue.Key) -> TimerQueue.Key? {
    state.withLock { state in
      guard !state.isOver else { return timer }
      state.timer = timer
      return nil
    }
  }

  /// An exchange begins: the present span does not count, unless it is the first one. True for that: it is to be
  /// arranged that somebody looks when it is over.
  func begins() -> Bool {
    guard speed != nil else { return false }
    return state.withLock { state in
      state.turn += 1
      guard state.turn == 1 else { return false }
      state.begin.turn = 1
      return true
    }
  }

  /// The request is over: returns the timer to cancel.
  func end() -> TimerQueue.Key? {
    state.withLock { state in
      state.isOver = true
      return state.timer.take()
    }
  }
}
