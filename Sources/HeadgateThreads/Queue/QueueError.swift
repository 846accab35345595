/// Why a queue could not be made.
public struct QueueError: HeadgateError, Hashable {
  /// The kind of failure. New ones may come: handle those that you know, and treat the others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it stands in logs.
    public let description: String

    /// The capacity is below zero.
    public static let invalidCapacity = Code(description: "invalid_capacity")
  }

  /// The kind of failure.
  public let code: Code

  /// The name of the queue that was asked for.
  public let queue: String

  /// The number that can't be.
  public let value: Int

  init(_ code: Code, queue: String, value: Int) {
    self.code = code
    self.queue = queue
    self.value = value
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// For people: what happened, and what to do.
  public var description: String {
    "the queue \"\(queue)\" can't have a capacity of \(value); give 0 or more, or none for a queue without a limit"
  }
}
