/// What the attempts before the last one may have done at a server, in the order of what the caller must assume.
package enum EarlierAttempts: Comparable, Sendable {
  /// None was sent or processed, or there were none.
  case unsent
  /// A server answered, and asked for another attempt.
  case answered
  /// A server may have processed one, and its response was lost.
  case lost

  /// - Parameter failure: The failure of an attempt. Nil if it was answered.
  package init(_ failure: DispatchError?) {
    self = failure.map { $0.phase.isBeforeSending ? .unsent : .lost } ?? .answered
  }
}

extension DispatchError.Phase {
  /// Whether no byte of the request has been sent in this phase.
  package var isBeforeSending: Bool {
    [.waiting, .intercepting, .name, .connecting, .tunnelling, .securing].contains(self)
  }
}
