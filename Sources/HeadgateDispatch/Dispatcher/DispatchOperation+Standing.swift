import HeadgateThreads

extension OperationState {
  /// Whether it waits for something else than the network.
  var isWaiting: Bool {
    switch stage {
    case .waiting, .resting, .intercepted: true
    default: false
    }
  }

  /// Where the request stands, in the words of its handle.
  var standing: URLDispatchOperation.State {
    if let verdict { return verdict.code == .cancelled ? .cancelled : .failed }
    if hasEndedWhole { return .finished }
    switch stage {
    case .waiting, .resting, .intercepted, .doomed: return .waiting
    case .starting, .running, .answering, .over: return .running
    }
  }
}

extension DispatchOperation {
  /// Goes on in the long lane, if that has a place. True if it runs there from now on.
  func moveToLong() -> Bool {
    guard let ticket = state.withLock({ $0.ticket }) else { return false }
    switch core.gate.reclass(ticket) {
    case .stays: return true
    case .refused, .gone: return false
    case .moved:
      if let timeout = state.withLock({ $0.becameLong() }) { drop(timeout) }
      return true
    }
  }
}
