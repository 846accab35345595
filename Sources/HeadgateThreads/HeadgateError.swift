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

// MARK: Codes

/// The texts of an error's code.
package struct Reason: Hashable, Sendable {
  package let name: String
  /// What happened.
  package let explanation: String
  /// What to do; empty where the explanation says it.
  package let advice: String
}

/// The code of an error: a name for logs, what happened, and what to do.
package protocol ErrorCode: Hashable, Sendable, CustomStringConvertible {
  var reason: Reason { get }

  init(reason: Reason)
}

extension ErrorCode {
  package init(_ name: String, _ explanation: String, _ advice: String = "") {
    self.init(reason: Reason(name: name, explanation: explanation, advice: advice))
  }

  /// Its name, as it appears in logs.
  public var description: String { reason.name }

  /// What happened in a wait, how long it lasted, what to do, and the failure with its own advice.
  package func text(_ failure: (any Error)? = nil, cycle: String? = nil, after waited: Duration) -> String {
    let inner = failure.map { " (\($0))" } ?? ""
    return "\(cycle ?? reason.explanation) after \(waited.words); \(reason.advice)\(inner)"
  }
}

/// An error with a code.
package protocol CodedError: HeadgateError {
  associatedtype Code: ErrorCode

  /// The reason.
  var code: Code { get }
}

extension CodedError {
  /// The name of its code.
  public var codeName: String { code.description }
}
