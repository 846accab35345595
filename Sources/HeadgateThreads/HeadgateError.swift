/// The interface common to all of Headgate's errors.
///
/// A closure that throws `any Error` may throw several of Headgate's error types. One `catch` handles all of them:
///
///     do {
///       try work()
///     } catch let error as any HeadgateError {
///       log("\(error.codeName): \(error)")
///     }
public protocol HeadgateError: Error, CustomStringConvertible {
  /// What happened, as a word for logs and metrics: `timed_out`. Stable, and from a bounded set for each type.
  var codeName: String { get }

  /// A readable text in one line: what happened and, where there is a remedy, what to do next.
  var description: String { get }

  /// The cause: an error thrown by a function of the program, or by a lower layer. Nil if there is none.
  var underlyingError: (any Error)? { get }
}

extension HeadgateError {
  /// Nil, for errors without a cause.
  public var underlyingError: (any Error)? { nil }
}
