import HTTPTypes
import HeadgateThreads

// What a transport tells of an exchange's connection: HTTP/2, the wait for a socket, trailers.

extension OperationState {
  /// The exchange waits for a socket. Returns the timer to cancel: that time is no running.
  mutating func hold(at now: Deadline) -> TimerQueue.Key? {
    guard !isDecided, !isHeld else { return nil }
    switch stage {
    case .starting, .running: break
    default: return nil
    }
    isHeld = true
    ran += now.nanoseconds(since: runningSince)
    waitingSince = now
    return takeTimeout()
  }

  /// It waits no longer. True if it did.
  @discardableResult
  mutating func leaveHold(at now: Deadline) -> Bool {
    guard isHeld else { return false }
    isHeld = false
    waited += now.nanoseconds(since: waitingSince)
    runningSince = now
    lastActivity = now
    return true
  }

  /// It goes on with the exchange. Returns the hop and the time that it has run, when its limit on time is to be armed
  /// again. One that is still being started arms it itself.
  mutating func goOn(at now: Deadline) -> (hop: Int, ran: Int64)? {
    guard leaveHold(at: now), !isDecided, !timeoutIsOver, case .running = stage else { return nil }
    return (hop, ran)
  }
}

extension DispatchOperation {
  func multiplexes(_ does: Bool) {
    let endPoint = endPoint
    core.note(multiplexes: does, at: endPoint)
  }

  func waitsForSocket() {
    let now = core.now
    if let timeout = state.withLock({ $0.hold(at: now) }) { drop(timeout) }
  }

  func goesOn() {
    let now = core.now
    download?.turns()
    if let (hop, ran) = state.withLock({ $0.goOn(at: now) }) { armTimeout(from: now, after: ran, hop: hop) }
  }

  func received(trailers: HTTPFields) {
    if kind == .intercepted, kept(trailers) { return }
    _ = enterSink(with: 0) { sink, _ throws(DispatchError) in
      state.withLock { $0.trailers = trailers }
      sink.received(trailers: trailers)
      return .more
    }
  }
}
