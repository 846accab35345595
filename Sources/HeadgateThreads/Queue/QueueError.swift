/// Why a queue could not be created.
public struct QueueError: HeadgateError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it appears in logs.
    public let description: String

    /// The capacity is below zero.
    public static let invalidCapacity = Code(description: "invalid_capacity")
  }

  /// The reason.
  public let code: Code

  /// The requested name of the queue.
  public let queue: String

  /// The invalid number.
  public let value: Int

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: what happened, and what to do.
  public var description: String {
    "the queue \"\(queue)\" cannot have a capacity of \(value); use 0 or more, or omit it for no limit"
  }
}
