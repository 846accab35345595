import HeadgateThreads

/// Why a flow of control brought no result: the one error of everything in this library.
///
///     do throws(FlowError<MirrorError>) {
///       page = try await firstToSucceed(throwing: MirrorError.self, [fromFirst, fromSecond, fromThird])
///     } catch {
///       for failure in error.failures { … }    // what each mirror said, in their order, with its type
///     }
public struct FlowError<Failure: Error>: HeadgateError {
  /// The reason.
  public let code: FlowErrorCode

  /// The failure that decided; nil where none did (a deadline, a cancellation, a refusal).
  public let failure: Failure?

  private let content: Content

  private final class Content: Sendable {
    let failures: [Failure]
    let inputs: [Int]
    let operation: String
    let waited: Duration
    let offset: Int?
    let underlying: (any Error)?

    init(
      _ failures: [Failure], _ inputs: [Int], _ operation: String, _ waited: Duration, _ offset: Int?,
      _ underlying: (any Error)?
    ) {
      self.failures = failures
      self.inputs = inputs
      self.operation = operation
      self.waited = waited
      self.offset = offset
      self.underlying = underlying
    }
  }

  /// An error of this kind. `inputs` says which input each failure is of, and `deciding` which of the failures decided.
  init(
    _ code: FlowErrorCode, failures: [Failure] = [], inputs: [Int]? = nil, deciding: Int? = nil, operation: String,
    waited: Duration = .zero, offset: Int? = nil, underlying: (any Error)? = nil
  ) {
    self.code = code
    failure = deciding.map { failures[$0] }
    content = Content(failures, inputs ?? Array(failures.indices), operation, waited, offset, underlying)
  }

  /// What the functions themselves failed with: in the order of the inputs, whoever failed first; for a retry, in the
  /// order of the attempts.
  ///
  /// An input that did not fail by itself has none here: it succeeded, was not started, was cancelled before it answered,
  /// or let go of its completion (``FlowErrorCode/unanswered``).
  public var failures: [Failure] { content.failures }

  /// Which input each of ``failures`` is of, counted from 0; for a retry, which attempt.
  public var inputs: [Int] { content.inputs }

  /// What was done, for people: `firstToSucceed of 3`.
  public var operation: String { content.operation }

  /// How long it had taken.
  public var waited: Duration { content.waited }

  /// How many bytes had been sent, counted from the start of the source; nil unless something was sent in pieces. From
  /// there it can be resumed.
  public var offset: Int? { content.offset }

  /// What the source of elements or bytes failed with, what takes the results threw, or what stood in the way of a delivery;
  /// nil otherwise.
  public var underlying: (any Error)? { content.underlying }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// The failure that decided, or else what ``underlying`` tells.
  public var underlyingError: (any Error)? { failure ?? underlying }

  /// For people: what ended, why, after how long, and what to do.
  public var description: String {
    var text = "\(operation): \(code.explanation)"
    if let offset { text += " at byte \(offset)" }
    text += Self.list(failures, inputs)
    if let underlying { text += " (\(underlying))" }
    return text + " after \(waited.inSeconds) s; \(code.advice)"
  }

  /// A line stays a line, however many there are.
  private static func list(_ failures: [Failure], _ inputs: [Int]) -> String {
    guard failures.count != 1 || inputs != [0] else { return " (\(failures[0]))" }
    guard !failures.isEmpty else { return "" }
    let some = zip(inputs, failures).prefix(5).map { "\($0): \($1)" }.joined(separator: "; ")
    return " (\(some)\(failures.count > 5 ? "; and \(failures.count - 5) more" : ""))"
  }
}
