import HeadgateThreads

/// The step of a flow in which it failed, and what with.
public struct StepError: HeadgateError {
  /// The step's name.
  public let step: String

  /// What it failed with; a `StepError` again, where a step is made of steps.
  public let underlying: any Error

  /// How long the step had taken.
  public let waited: Duration

  /// The names of the steps from the outermost to the one that failed.
  public var path: [String] { [step] + ((underlying as? StepError)?.path ?? []) }

  /// What the innermost step failed with.
  public var cause: any Error { (underlying as? StepError)?.cause ?? underlying }

  /// An error of a step.
  public init(_ step: String, _ underlying: any Error, waited: Duration = .zero) {
    self.step = step
    self.underlying = underlying
    self.waited = waited
  }

  /// `step_failed`, or the name of its cause's code where that has one.
  public var codeName: String { (cause as? any HeadgateError)?.codeName ?? "step_failed" }

  /// What it failed with.
  public var underlyingError: (any Error)? { underlying }

  /// For people: `upload > part 3: …`, and after how long.
  public var description: String { "\(path.joined(separator: " > ")): \(cause) after \(waited.inSeconds) s" }
}

/// Runs a part of a flow under a name, which its errors then carry.
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
///   - body: What to do; on the caller's actor.
/// - Returns: What the body returned.
/// - Throws: ``StepError`` with what the body threw.
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

/// Runs a part of a flow that suspends nothing under a name, which its errors then carry. As the async form.
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

/// A callback function under a name, which its failures then carry. Letting go of the completion stays what it is.
public func step<Success: Sendable, Failure: Error>(
  _ name: String, _ function: @escaping CallbackFunction<Success, Failure>
) -> CallbackFunction<Success, StepError> {
  { completion in
    let start = Deadline.now
    function(
      completion.beneath { (end: CallEnd<Success, Failure>) -> CallEnd<Success, StepError> in
        switch end {
        case .success(let value): .success(value)
        case .failure(let failure): .failure(StepError(name, failure, waited: .now - start))
        case .missing(let code, let error): .missing(code, error)
        }
      } discard: {
        completion.call.drop($0)
      })
  }
}
