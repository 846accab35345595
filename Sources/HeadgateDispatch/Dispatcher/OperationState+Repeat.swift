import HeadgateThreads

// A request that met a connection which had been kept open and turned out to be closed. Whether the server saw it can't
// be known, so what may not be repeated is not; all else is sent again at once, as a redirect to itself.

extension OperationState {
  /// Plans to send the request once more, under the permit that it holds. False: it may not be, it was decided
  /// meanwhile, or this was such a repeat already: two in a row would be a loop with a server that closes all it
  /// accepts.
  ///
  /// - Parameter attempts: How many times it may be sent in all; nil: no such bound.
  mutating func planRepeat(of first: DispatchRequest, attempts: Int?) -> Bool {
    guard !isRepeat, !isDecided, head == nil, challenge == nil, redirect == nil, interlude?.kept == nil else {
      return false
    }
    let sent = later ?? first
    guard sent.mayBeRepeated, attempts.map({ retries + 1 < $0 }) ?? true else { return false }
    redirect = sent
    isToBeRepeated = true
    return true
  }
}
