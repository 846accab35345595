import HeadgateThreads

/// The step of a flow that failed, and its error.
public struct StepError: HeadgateError {
  /// The step's name.
  public let step: String

  private let failure: any Error

  /// How long the step had taken.
  public let waited: Duration

  /// The names of the steps from the outermost to the one that failed.
  public var path: [String] { [step] + ((failure as? StepError)?.path ?? []) }

  /// The error of the innermost step.
  public var cause: any Error { (failure as? StepError)?.cause ?? failure }

  /// Creates an error of a step.
  public init(_ step: String, _ failure: any Error, waited: Duration = .zero) {
    self.step = step
    self.failure = failure
    self.waited = waited
  }

  /// The code name of the cause, or `step_failed` if the cause has none.
  public var codeName: String { (cause as? any HeadgateError)?.codeName ?? "step_failed" }

  /// The error of the step; another `StepError` if the step consists of steps. Never nil.
  public var underlyingError: (any Error)? { failure }

  /// A readable text: `upload > part 3 failed after 1.5 s: …`.
  public var description: String { "\(path.joined(separator: " > ")) failed after \(waited.words): \(cause)" }
}

/// Runs a part of a flow under a name that its errors carry.
///
///     do throws(StepError) {
///       let session = try await step("log in") { try await logIn() }
///       try await step("upload") { try await upload(file, session) }
///     } catch {
///       show("\(error.step) failed: \(error.cause)")
///     }
///
/// - Parameters:
///   - name: The step's name, for people.
///   - body: The step; runs on the caller's actor.
/// - Returns: The value that the body returned.
/// - Throws: ``StepError`` with the body's error.
@discardableResult
nonisolated(nonsending)
  public func step<Success: ~Copyable, Failure: Error>(
    _ name: String, _ body: nonisolated(nonsending) () async throws(Failure) -> sending Success
  ) async throws(StepError) -> sending Success
{
  let start = Deadline.now
  do throws(Failure) {
    return try await body()
  } catch {
    throw StepError(name, error, waited: .now - start)
  }
}

/// Runs a synchronous part of a flow under a name that its errors carry. Otherwise like the async form.
@discardableResult
public func step<Success: ~Copyable, Failure: Error>(
  _ name: String, _ body: () throws(Failure) -> sending Success
) throws(StepError) -> sending Success {
  let start = Deadline.now
  do throws(Failure) {
    return try body()
  } catch {
    throw StepError(name, error, waited: .now - start)
  }
}
