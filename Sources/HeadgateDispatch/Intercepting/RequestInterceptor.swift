/// Changes a dispatcher's requests before they start, and may have them sent again: tokens, signatures, another server.
///
///     struct Language: RequestInterceptor {
///       func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
///         request.headerFields[.acceptLanguage] = await currentLanguage()
///       }
///     }
///     let dispatcher = try URLDispatcher(interceptors: [Language()])
///
/// For bearer tokens there is ``BearerTokens``. Every call has a default, which changes nothing.
///
/// **No permit is held** while an interceptor works: a request is prepared before it asks for its permit, and gives it back
/// before a response is looked at. So a slow token service stops nobody but those that wait for it, and an interceptor may
/// send requests of its own to the same end-point (``Interception/send(_:)``), however low its limit. A request that comes
/// back is as old as it was: it goes before those that were submitted later.
///
/// **Order.** Requests are prepared by all interceptors of a dispatcher, in their order, each beginning with what the one
/// before made. Responses are looked at in the opposite order, and the first that wants the request sent again decides.
/// Then all prepare it anew.
///
/// **Time.** A request's `deadline` counts all that an interceptor takes, its `timeout` nothing of it. Whatever ends the
/// request meanwhile does so at once; the task in which the interceptor works is cancelled then, and what it answers
/// later is passed over.
///
/// **Errors.** What an interceptor throws ends the request with the error `interceptorFailed`, and stands there as
/// ``DispatchError/underlying``.
///
/// The calls of one request come one at a time, in a task of its own, which has the task-local values and the priority of the
/// task that submitted it; those of different requests come at once. A request that is submitted outside of any task has the
/// default priority. The task lasts as long as the request, suspended while interceptors have nothing to do.
public protocol RequestInterceptor: Sendable {
  /// Changes a request before it is sent: for its first time, after each redirect, before each retry, with a delegate's
  /// credential, and when an interceptor has it sent again.
  ///
  /// - Parameters:
  ///   - request: At first the request as no interceptor has changed it: as it was submitted, or as a redirect made it. So
  ///     preparations never pile up, and what was put in for one server does not go along to another. Header fields,
  ///     method, body, and where it goes may be changed; limits on time and size, priority and retries are those that it was
  ///     submitted with.
  ///   - interception: What there is to know beside.
  /// - Throws: Anything: the request ends with it, and is not sent.
  func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws

  /// Whether what was prepared is out of date, now that the request has its permit, for which it may have waited for long: a
  /// token has expired, a signature has a time. Then the permit goes to the next request, and this one is prepared anew, as
  /// old as it was. Not asked any more after five such times. Called where the permit was granted, the transport's thread
  /// most often: it must return at once, and blocking calls of the dispatcher throw in it.
  ///
  /// - Parameters:
  ///   - request: The request as it was prepared, by all interceptors.
  ///   - interception: What there is to know beside.
  /// - Returns: False unless implemented.
  func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool

  /// Whether ``review(_:_:)`` is to be called for a response, or for a failure. Nothing is told of it before that: up to
  /// 256 KB of its body are kept, and the rest is given up (if the answer is to let it be, the request fails with
  /// `bodyTooLarge` then). So say true only for what may be a reason to send the request again.
  ///
  /// Not asked about redirects that are followed, about what the request's ``RetryPolicy`` sends again, where the request's
  /// body can't be sent again, and after five times that this interceptor had the request sent again. Called on the
  /// transport's thread, where every other exchange waits: it must return at once, and blocking calls of the dispatcher
  /// throw in it.
  ///
  /// - Parameters:
  ///   - response: The response's head, or why there is none.
  ///   - interception: What there is to know beside.
  /// - Returns: False unless implemented.
  func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool

  /// Looks at a response, or a failure, in which it said that it is interested. The exchange is over, and the permit was
  /// given back.
  ///
  /// - Parameters:
  ///   - response: The response's head, or why there is none.
  ///   - interception: What there is to know beside.
  /// - Returns: Whether the request is sent again; ``InterceptorAnswer/letBe`` unless implemented.
  /// - Throws: Anything: the request ends with it.
  func review(_ response: InterceptedResponse, _ interception: Interception) async throws -> InterceptorAnswer
}

extension RequestInterceptor {
  /// Changes nothing.
  public func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {}

  /// Nothing is ever out of date.
  public func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool { false }

  /// Is not interested.
  public func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool { false }

  /// Lets it be.
  public func review(
    _ response: InterceptedResponse, _ interception: Interception
  ) async throws -> InterceptorAnswer { .letBe }
}

/// What an interceptor looks at.
public struct InterceptedResponse: Sendable, CustomStringConvertible {
  /// The request as it was sent.
  public let request: DispatchRequest
  /// The response's head; nil where none came.
  public let head: ResponseHead?
  /// Why there is no head; nil where there is one.
  public let error: DispatchError?

  /// The status code; nil where no head came.
  public var statusCode: Int? { head?.statusCode }

  /// Status or error in a word, for logs.
  public var description: String { statusCode.map { "status \($0)" } ?? error.map { "\($0.code)" } ?? "nothing" }
}

/// What an interceptor answers to a response.
public struct InterceptorAnswer: Sendable {
  enum Value: Sendable {
    case letBe
    case sendAgain(DispatchRequest?)
  }

  let value: Value

  /// The response, or the failure, is the request's, unless another interceptor wants it sent again.
  public static let letBe = InterceptorAnswer(value: .letBe)

  /// The request is prepared anew and sent again.
  public static let sendAgain = InterceptorAnswer(value: .sendAgain(nil))

  /// Another request takes its place: that is prepared, and sent. It has the limits of the one that was submitted.
  ///
  /// - Parameter request: What is to be prepared and sent; made of ``Interception/unprepared``, as a rule.
  public static func sendAgain(_ request: DispatchRequest) -> InterceptorAnswer {
    InterceptorAnswer(value: .sendAgain(request))
  }
}
