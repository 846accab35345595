/// What every error of Headgate can tell, whatever its type.
///
/// A closure that throws `any Error` may meet errors of several of Headgate's types. One `catch` is enough for all of them:
///
///     do {
///       try work()
///     } catch let error as any HeadgateError {
///       log("\(error.codeName): \(error)")
///     }
public protocol HeadgateError: Error, CustomStringConvertible {
  /// What happened, as a word for logs and metrics: `timed_out`. Stable, and from a set that is bounded for each type.
  var codeName: String { get }

  /// For people, in one line: what happened and, where something can be done about it, what to do next.
  var description: String { get }

  /// The error that this one came from: the one that a function of the program's own threw, or that of a layer beneath. Nil
  /// where there is none.
  var underlyingError: (any Error)? { get }
}

extension HeadgateError {
  /// None: for errors that come from no other.
  public var underlyingError: (any Error)? { nil }
}
