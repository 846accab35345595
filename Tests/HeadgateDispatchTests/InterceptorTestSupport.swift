import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads

/// An interceptor for tests, made of closures, that records its calls.
final class Hooks: RequestInterceptor {
  typealias Prepare = @Sendable (inout DispatchRequest, Interception) async throws -> Void
  typealias Interest = @Sendable (InterceptedResponse, Interception) -> Bool
  typealias Review = @Sendable (InterceptedResponse, Interception) async throws -> InterceptorAnswer

  let calls: Outcomes<String>
  private let name: String
  private let onPrepare: Prepare
  private let interest: Interest
  private let onReview: Review
  private let outdated: @Sendable () -> Bool

  /// - Parameters:
  /// - name: The prefix of its records.
  /// - calls: Receives the records.
  init(
    _ name: String = "", calls: Outcomes<String> = Outcomes(), prepare: @escaping Prepare = { _, _ in },
    interest: @escaping Interest = { response, _ in response.statusCode == 401 },
    review: @escaping Review = { _, _ in .resend }, outdated: @escaping @Sendable () -> Bool = { false }
  ) {
    self.outdated = outdated
    self.name = name
    self.calls = calls
    onPrepare = prepare
    self.interest = interest
    onReview = review
  }

  func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
    calls.add("\(name)prepare \(interception.resends)")
    try await onPrepare(&request, interception)
  }

  func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool { outdated() }

  func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool {
    interest(response, interception)
  }

  func review(
    _ response: InterceptedResponse, _ interception: Interception
  ) async throws -> InterceptorAnswer {
    calls.add("\(name)review \(response)")
    return try await onReview(response, interception)
  }
}

/// Suspends until the task is cancelled.
func untilCancelled() async throws {
  let gate = Gate()
  await withTaskCancellationHandler {
    await gate.waitRegardless()
  } onCancel: {
    gate.open()
  }
  throw CancellationError()
}

/// An error for tests.
struct Mishap: Error, Equatable {}
