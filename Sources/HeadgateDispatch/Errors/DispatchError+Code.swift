extension DispatchError {
  /// What happened. More may be added: a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs and metrics, from a bounded set.
    public let description: String
    let words: String
    let advice: String

    private init(_ description: String, _ words: String, _ advice: String = "") {
      self.description = description
      self.words = words
      self.advice = advice
    }

    /// `cancel()` was called, or the task that waited was cancelled.
    public static let cancelled = Code("cancelled", "cancelled")
    /// The request's `timeout`, which starts when its permit is granted, has passed.
    public static let timedOut = Code(
      "timed_out", "timed out", "the end-point is slow: raise `timeout`, or lower its limit")
    /// The request's `deadline`, which counts from its submission, has passed.
    public static let deadlineExceeded = Code(
      "deadline_exceeded", "the deadline passed", "give it a later deadline, or the end-point a higher limit")
    /// No connection within `connectTimeout`.
    public static let connectTimedOut = Code(
      "connect_timed_out", "no connection in time", "check the address and the network, or raise `connectTimeout`")
    /// The body paused for longer than `idleTimeout`.
    public static let idleTimedOut = Code(
      "idle_timed_out", "nothing came for too long", "raise `idleTimeout`, or ask again from where it stopped")
    /// As many wait as may.
    public static let refused = Code(
      "refused", "refused, the queue is full", "submit more slowly, raise `waiting`, or use the policy `wait`")
    /// It gave way to another request, since too many waited: see ``OverflowPolicy``.
    public static let displaced = Code(
      "displaced", "gave way to another request", "submit more slowly, raise `waiting`, or give it a higher priority")
    /// The long lane has no place left.
    public static let longLaneFull = Code(
      "long_lane_full", "refused, the long lane is full", "end a long request first, or raise the lane's limit")
    /// The dispatcher was shut down.
    public static let shutDown = Code("shut_down", "ended by the shutdown", "use another dispatcher")
    /// A blocking call from a place that must not block: inside a task, or a callback of the same dispatcher.
    public static let wouldBlock = Code(
      "would_block", "a blocking call in a task or a callback",
      "use the async or the callback form, or a thread of your own")
    /// The place where a delegate is to be called takes no calls: a stopped loop, a pool that was disposed of or is full.
    public static let deliveryFailed = Code(
      "delivery_failed", "the delegate could not be called where it asked to be",
      "keep the delegate's loop or pool running until its requests have ended")
    /// The URL can't be used.
    public static let invalidURL = Code(
      "invalid_url", "the URL can't be used", "use an absolute http or https URL, or http+unix for a socket")
    /// The host's name has no address, or no name server answered.
    public static let nameNotResolved = Code(
      "name_not_resolved", "the host's name was not found", "check its spelling and the name service")
    /// Nobody accepts connections there, or no way leads there.
    public static let connectFailed = Code(
      "connect_failed", "no connection could be made", "check that the server runs and that the port is right")
    /// The server's certificate was not accepted, or the handshake failed.
    public static let tlsFailed = Code(
      "tls_failed", "TLS failed",
      "check the server's certificate, and the transport's settings for TLS: authorities, the client's certificate, versions"
    )
    /// The connection broke before the response was whole.
    public static let connectionLost = Code("connection_lost", "the connection broke", "ask again")
    /// What the server sent is no HTTP.
    public static let badResponse = Code("bad_response", "the server's answer is no valid HTTP")
    /// The body is longer than `maxBodyBytes` or `maxDownloadBytes`.
    public static let bodyTooLarge = Code(
      "body_too_large", "the body is too large",
      "raise `maxBodyBytes` or `maxDownloadBytes`, or use a stream or a file for what memory can't hold")
    /// Fewer bytes came, for too long, than the request's `leastSpeed` asks for.
    public static let tooSlow = Code(
      "too_slow", "too slow", "lower `leastSpeed`, or ask again from where it stopped")
    /// The head is longer than the transport takes.
    public static let headTooLarge = Code("head_too_large", "the response's head is too large")
    /// More redirects than `maxRedirects`.
    public static let tooManyRedirects = Code("too_many_redirects", "too many redirects", "raise `maxRedirects`")
    /// A redirect that the request's ``DispatchRequest/redirects`` does not allow; `detail` says from where to where
    /// and which rule. Nothing was sent there.
    public static let redirectRefused = Code(
      "redirect_refused", "the redirect is not allowed",
      "check where it leads; give the request a `redirects` policy that allows it, or `.none` to see the redirect itself"
    )
    /// A redirect to what is no http or https URL.
    public static let badRedirect = Code("bad_redirect", "the redirect can't be followed")
    /// A 307 or 308, or a credential, asks for a body again that can't be sent twice: see
    /// ``RequestBody/canBeSentAgain``.
    public static let bodyNotReplayable = Code(
      "body_not_replayable", "the body would have to be sent again",
      "make it from memory, a file or a `replayable` sequence; or send it to where the redirect points, with its credential"
    )
    /// The request's body could not be had: ``DispatchError/underlying`` is a ``RequestBodyError`` (of a file, or of a
    /// length that was not kept to), or what its sequence threw.
    public static let bodyFailed = Code(
      "body_failed", "the request's body could not be had", "look at the underlying error")
    /// The file could not be made or written.
    public static let fileFailed = Code("file_failed", "the file could not be written", "check the folder and the disk")
    /// The request needs what the dispatcher's transport can't do; `detail` names it. Nothing was sent.
    public static let unsupported = Code(
      "unsupported", "the transport can't do that", "use another transport, or do without")
    /// The proxy did not let the request through.
    public static let proxyFailed = Code(
      "proxy_failed", "the proxy failed", "check the proxy's address and what it asks for, or go without it")
    /// An interceptor threw: ``DispatchError/underlying`` is what it threw. See ``RequestInterceptor``.
    public static let interceptorFailed = Code(
      "interceptor_failed", "an interceptor failed", "look at the underlying error")
    /// The transport failed in another way; see `detail`.
    public static let transportFailed = Code("transport_failed", "the transport failed")
  }
}
