/// What became of an element that was to be put into a queue: an error can't carry a non-copyable element, so it comes
/// back in this.
@frozen
public enum PutResult<Element: ~Copyable>: ~Copyable {
  /// The queue has it.
  case accepted
  /// The queue did not take it: here it is, and why.
  case refused(Element, WaitError)
}

extension PutResult: Sendable where Element: ~Copyable & Sendable {}

extension PutResult where Element: ~Copyable {
  /// Whether the queue has the element.
  public var isAccepted: Bool {
    switch self {
    case .accepted: true
    case .refused: false
    }
  }

  /// Throws why the queue refused the element, and lets go of that. Does nothing if it was accepted.
  @inlinable
  public consuming func get() throws(WaitError) {
    switch consume self {
    case .accepted: return
    case .refused(_, let error): throw error
    }
  }

  /// Whether there was a place; throws for any other reason why there was none.
  consuming func wasAccepted() throws(WaitError) -> Bool {
    switch consume self {
    case .accepted: return true
    case .refused(_, let error):
      if error.code == .timedOut { return false }
      throw error
    }
  }
}
