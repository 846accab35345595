extension DispatchError {
  /// What happened. More codes may be added: a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs and metrics, from a bounded set.
    public let description: String
    package let words: String
    let advice: String

    private init(_ description: String, _ words: String, _ advice: String = "") {
      self.description = description
      self.words = words
      self.advice = advice
    }

    /// `cancel()` was called, or the task that waited was cancelled.
    public static let cancelled = Code("cancelled", "cancelled")
    /// The request's `timeout`, which starts when its permit is granted, expired.
    public static let timedOut = Code(
      "timed_out", "timed out", "the end-point is slow: raise `timeout`, or lower its limit")
    /// The request's `deadline`, counted from its submission, passed.
    public static let deadlineExceeded = Code(
      "deadline_exceeded", "the deadline passed", "use a later deadline, or raise the end-point's limit")
    /// No connection was made within `connectTimeout`.
    public static let connectTimedOut = Code(
      "connect_timed_out", "no connection in time", "check the address and the network, or raise `connectTimeout`")
    /// The end-point sent nothing for longer than `idleTimeout`.
    public static let idleTimedOut = Code(
      "idle_timed_out", "no data for too long", "raise `idleTimeout`, or resume from where it stopped")
    /// The deadline lies within a pause of the end-point or of one of the request's scopes, so that it could not have
    /// started in time. ``DispatchError/waitReason`` has the end of the pause and the reason.
    public static let pausedUntil = Code(
      "paused_until", "its end-point is paused until after the deadline",
      "retry after the pause, or use a later deadline")
    /// The end-point was unreachable for so long that its waiting requests were failed: see ``BreakerPolicy``.
    public static let unreachable = Code(
      "unreachable", "its end-point was unreachable", "check that the server runs, and retry later")
    /// The end-point refused requests for longer than ``PausePolicy/patience``, or asked for a longer wait, so its waiting
    /// requests were failed; or an earlier process was told so (see ``GateState``). ``DispatchError/waitReason`` has the end
    /// of the pause.
    public static let refusing = Code(
      "refusing", "its end-point refused requests", "retry after the pause, or raise `PausePolicy.patience`")
    /// The request weighs more than one of its budgets allows and would wait forever. ``DispatchError/waitReason``
    /// names the budget.
    public static let tooHeavy = Code(
      "too_heavy", "refused because its weight exceeds the budget", "reduce the weight, or raise the budget's units")
    /// The coordinator of shared permits could not be reached in time. ``DispatchError/detail`` says why. See
    /// ``OutagePolicy``.
    public static let coordinatorUnavailable = Code(
      "coordinator_unavailable", "the coordinator of shared permits can't be reached",
      "check that it runs, or use another `OutagePolicy`")
    /// The queue is full.
    public static let refused = Code(
      "refused", "refused by a full queue", "submit more slowly, raise `waiting`, or use the policy `wait`")
    /// Displaced from a full queue by another request: see ``OverflowPolicy``.
    public static let displaced = Code(
      "displaced", "displaced by another request", "submit more slowly, raise `waiting`, or use a higher priority")
    /// The long lane is full.
    public static let longLaneFull = Code(
      "long_lane_full", "refused by a full long lane",
      "end a long request first, use the policy `enqueue`, or raise the lane's limit")
    /// The dispatcher, or its gate, was shut down.
    public static let shutDown = Code("shut_down", "ended by the shutdown", "use another dispatcher")
    /// A blocking call was made where blocking is not allowed: inside a task, or in a callback of the same gate or of
    /// one of its dispatchers.
    public static let wouldBlock = Code(
      "would_block", "a blocking call in a task or a callback",
      "use the async or the callback form, or a thread of your own")
    /// The target on which a delegate is called accepts no calls: a stopped loop, or a pool that is full or disposed
    /// of.
    public static let deliveryFailed = Code(
      "delivery_failed", "the delegate could not be called on its target",
      "keep the delegate's loop or pool running until its requests have ended")
    /// The URL is invalid or not supported.
    public static let invalidURL = Code(
      "invalid_url", "the URL can't be used", "use an absolute http or https URL, or http+unix for a socket")
    /// The host name has no address, or no name server answered.
    public static let nameNotResolved = Code(
      "name_not_resolved", "the host name could not be resolved", "check its spelling and the DNS settings")
    /// The server refused the connection, or there is no route to it.
    public static let connectFailed = Code(
      "connect_failed", "no connection could be made", "check that the server runs and that the port is right")
    /// The server's certificate was not accepted, or the handshake failed.
    public static let tlsFailed = Code(
      "tls_failed", "TLS failed",
      "check the server's certificate, and the transport's settings for TLS: authorities, the client's certificate, versions"
    )
    /// The connection broke before the response was complete.
    public static let connectionLost = Code("connection_lost", "the connection broke", "retry")
    /// The server's response is not valid HTTP, or its body does not have the expected checksum.
    public static let badResponse = Code("bad_response", "the server's response is not valid")
    /// The body is larger than `maxBodyBytes` or `maxDownloadBytes`.
    public static let bodyTooLarge = Code(
      "body_too_large", "the body is too large",
      "raise `maxBodyBytes` or `maxDownloadBytes`, or use a stream or a file for what memory can't hold")
    /// The transfer was slower than the request's `minimumSpeed` for too long.
    public static let tooSlow = Code(
      "too_slow", "too slow", "lower `minimumSpeed`, or resume from where it stopped")
    /// The response is not an event stream: ``DispatchError/underlyingError`` is a `NoEventStream`, and `detail`
    /// contains the status or content type.
    public static let noEventStream = Code(
      "no_event_stream", "the response is not an event stream",
      "check the URL, the method and the credentials; use `stream(for:)` to read the response")
    /// An event of a stream, or one of its lines, is longer than `maxEventBytes`.
    public static let eventTooLarge = Code("event_too_large", "an event is too large", "raise `maxEventBytes`")
    /// A line of a body is longer than `maxLineBytes`.
    public static let lineTooLong = Code("line_too_long", "a line is too long", "raise `maxLineBytes`")
    /// The response's head is larger than the transport allows.
    public static let headTooLarge = Code("head_too_large", "the response's head is too large")
    /// More redirects than `maxRedirects`.
    public static let tooManyRedirects = Code("too_many_redirects", "too many redirects", "raise `maxRedirects`")
    /// The request's `DispatchRequest.redirects` policy does not allow a redirect; `detail` has both URLs and the
    /// rule. Nothing was sent to the new URL.
    public static let redirectRefused = Code(
      "redirect_refused", "the redirect is not allowed",
      "check its URL; use a `redirects` policy that allows it, or `.none` to get the redirect as the response"
    )
    /// A redirect to something other than an http or https URL.
    public static let badRedirect = Code("bad_redirect", "the redirect can't be followed")
    /// A 307 or 308 redirect or a credential requires sending the body again, but it can't be sent twice: see
    /// `RequestBody.canBeSentAgain`.
    public static let bodyNotReplayable = Code(
      "body_not_replayable", "the body would have to be sent again",
      "use a body from memory, a file or a `replayable` sequence; or send it to the redirect's URL, with its credential"
    )
    /// The request's body could not be read: ``DispatchError/underlyingError`` is a `RequestBodyError` (for a file,
    /// or for a wrong length), or the error that its sequence threw.
    public static let bodyFailed = Code(
      "body_failed", "the request's body could not be read", "see the underlying error")
    /// The file could not be created or written.
    public static let fileFailed = Code("file_failed", "the file could not be written", "check the folder and the disk")
    /// The request requires a capability that the transport does not have; `detail` names it. Nothing was sent.
    public static let unsupported = Code(
      "unsupported", "the transport can't do that", "use another transport, or drop the requirement")
    /// The proxy rejected the request.
    public static let proxyFailed = Code(
      "proxy_failed", "the proxy failed", "check the proxy's address and credentials, or connect without it")
    /// An interceptor threw: ``DispatchError/underlyingError`` is the thrown error. See `RequestInterceptor`.
    public static let interceptorFailed = Code(
      "interceptor_failed", "an interceptor failed", "see the underlying error")
    /// The transport failed in another way; see `detail`.
    public static let transportFailed = Code("transport_failed", "the transport failed")
  }
}
