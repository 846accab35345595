/// Changes a dispatcher's requests before they start, and can send them again: for tokens, signatures, or another
/// server.
///
///     struct Language: RequestInterceptor {
///       func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
///         request.headerFields[.acceptLanguage] = await currentLanguage()
///       }
///     }
///     let dispatcher = try URLDispatcher(interceptors: [Language()])
///
/// For bearer tokens see ``BearerTokens``. Every method has a default implementation, which changes nothing.
///
/// **Permits.** A request is prepared before it asks for its permit, and returns the permit before its response is
/// reviewed. Only a request that is outdated when it gets its permit is prepared with the permit held, for a second at
/// most: see ``isOutdated(_:_:)``. A slow token service therefore blocks only requests that need the token, and delays the
/// others by no more than that second. An interceptor may send requests to the same end-point
/// (``Interception/send(_:)``), however low its limit. A request that is sent again keeps its age: it goes before requests
/// submitted later.
///
/// **Order.** Requests are prepared by all interceptors of a dispatcher in order, each starting with the result of
/// the previous one. Responses are reviewed in reverse order. The first interceptor that wants the request sent again
/// decides; then all of them prepare it again.
///
/// **Time.** Interceptor time counts toward a request's `deadline`, not its `timeout`. If the request ends meanwhile,
/// for example because it is cancelled, it ends at once: the interceptor's task is cancelled and its result ignored.
///
/// **Errors.** If an interceptor throws, the request ends with the error `interceptorFailed`, with the thrown error
/// as `DispatchError.underlyingError`.
///
/// **Concurrency.** The methods are called one at a time for a request, in a task that inherits the task-local values
/// and the priority of the submitting task, and concurrently for different requests. A request submitted outside of
/// any task has the default priority. The task lasts as long as the request, and is suspended when there is no work.
public protocol RequestInterceptor: Sendable {
  /// Changes a request before it is sent: initially, after each redirect, before each retry, with a delegate's
  /// credential, and when an interceptor has it sent again.
  ///
  /// - Parameters:
  ///   - request: Initially the request without changes by interceptors: as it was submitted, or as a redirect
  ///     changed it. Changes therefore never accumulate, and a field set for one server is not passed on to another.
  ///     Header fields, method, body and URL may be changed; limits on time and size, priority and retries stay as
  ///     submitted.
  ///   - interception: The context.
  /// - Throws: Any error; the request ends with it and is not sent.
  func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws

  /// Whether a prepared request is outdated by the time it gets its permit, after a possibly long wait: a token has
  /// expired, or a signature contains the time. If so, it is prepared again and then sent.
  ///
  /// The request keeps its permit meanwhile, so that the requests behind it stay in the queue and don't become outdated one after
  /// another. The request returns the permit, keeps its age, and waits for another permit in these cases: a request that an
  /// interceptor has sent waits for a permit; the preparation takes longer than a second, or leads to another end-point,
  /// scope or weight; the end-point was stopped or paused meanwhile. After a hundred such returns it is sent as it is.
  ///
  /// Called on the thread that granted the permit, usually the transport's. It must return at once; blocking calls of
  /// the dispatcher throw.
  ///
  /// - Parameters:
  ///   - request: The request as prepared by all interceptors.
  ///   - interception: The context.
  /// - Returns: The default implementation returns false.
  func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool

  /// Whether to call ``review(_:_:)`` for a response or a failure. The response is withheld until then: up to 256 KB
  /// of its body are kept, and the transfer is aborted beyond that (if `review` returns ``InterceptorAnswer/deliver``, the
  /// request then fails with `bodyTooLarge`). All such bodies count toward the dispatcher's `maxBodyMemory`. Above it,
  /// the next response is not read until a review has ended, and keeps its permit until then. Return true only for a
  /// response that may be a reason to send the request again.
  ///
  /// Not called for redirects that are followed, for failures that the request's ``RetryPolicy`` handles, if the
  /// request's body can't be sent again, and after this interceptor has had the request sent again five times. Called
  /// on the transport's thread, where it delays every other exchange: it must return at once; blocking calls of the
  /// dispatcher throw.
  ///
  /// - Parameters:
  ///   - response: The response's head, or the error.
  ///   - interception: The context.
  /// - Returns: The default implementation returns false.
  func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool

  /// Reviews a response or failure for which ``isInterested(in:_:)`` returned true. The exchange has ended, and the
  /// permit was returned.
  ///
  /// - Parameters:
  ///   - response: The response's head, or the error.
  ///   - interception: The context.
  /// - Returns: Whether to send the request again. The default implementation returns ``InterceptorAnswer/deliver``.
  /// - Throws: Any error; the request ends with it.
  func review(_ response: InterceptedResponse, _ interception: Interception) async throws -> InterceptorAnswer
}

extension RequestInterceptor {
  /// Changes nothing.
  public func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {}

  /// Returns false.
  public func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool { false }

  /// Returns false.
  public func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool { false }

  /// Returns ``InterceptorAnswer/deliver``.
  public func review(
    _ response: InterceptedResponse, _ interception: Interception
  ) async throws -> InterceptorAnswer { .deliver }
}

/// The response or failure that an interceptor reviews.
public struct InterceptedResponse: Sendable, CustomStringConvertible {
  /// The request as it was sent.
  public let request: DispatchRequest
  /// The response's head. Nil after a failure.
  public let head: ResponseHead?
  /// The error. Nil if there is a head.
  public let error: DispatchError?

  /// The status code. Nil after a failure.
  public var statusCode: Int? { head?.statusCode }

  /// The status or error code, for logs.
  public var description: String { statusCode.map { "status \($0)" } ?? error.map { "\($0.code)" } ?? "nothing" }
}

/// An interceptor's decision about a response.
public struct InterceptorAnswer: Sendable, CustomStringConvertible {
  enum Value: Sendable {
    case deliver
    case resend(DispatchRequest?)
  }

  let value: Value

  /// Delivers the response or failure, unless another interceptor wants the request sent again.
  public static let deliver = InterceptorAnswer(value: .deliver)

  /// Prepares the request again and sends it.
  public static let resend = InterceptorAnswer(value: .resend(nil))

  /// Replaces the request: prepares and sends another one, with the limits of the submitted one.
  ///
  /// - Parameter request: The request to prepare and send, usually derived from ``Interception/unprepared``.
  public static func resend(_ request: DispatchRequest) -> InterceptorAnswer {
    InterceptorAnswer(value: .resend(request))
  }

  /// Its name, as in a program: `deliver`, `resend`.
  public var description: String {
    switch value {
    case .deliver: "deliver"
    case .resend: "resend"
    }
  }
}
