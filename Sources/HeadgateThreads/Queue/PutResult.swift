/// The result of a put. A thrown error cannot carry a noncopyable element, so this returns it.
@frozen
public enum PutResult<Element: ~Copyable>: ~Copyable {
  /// The element is in the queue.
  case accepted
  /// The queue refused the element: the element and the reason.
  case refused(Element, WaitError)
}

extension PutResult: Sendable where Element: ~Copyable & Sendable {}

extension PutResult where Element: ~Copyable {
  /// Whether the element was put.
  public var isAccepted: Bool {
    switch self {
    case .accepted: true
    case .refused: false
    }
  }

  /// Throws the reason of a refusal and releases the refused element. Does nothing if the element was accepted.
  @inlinable
  public consuming func get() throws(WaitError) {
    switch consume self {
    case .accepted: return
    case .refused(_, let error): throw error
    }
  }

  /// The same for a task: a cancellation is thrown as `CancellationError`.
  @inlinable
  consuming func getInTask() throws {
    if case .refused(_, let error) = consume self { throw error.inTask }
  }

  /// Returns whether there was space. Throws any other reason of a refusal.
  consuming func wasAccepted() throws(WaitError) -> Bool {
    switch consume self {
    case .accepted: return true
    case .refused(_, let error):
      if error.code == .timedOut { return false }
      throw error
    }
  }
}
