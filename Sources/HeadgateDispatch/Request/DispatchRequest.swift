import HTTPTypes
import HeadgateThreads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request: URL, method, header fields, body, and limits.
///
///     var request = try DispatchRequest("https://example.com/items")
///     request.headerFields[.accept] = "application/json"
///     request.timeout = .seconds(10)
public struct DispatchRequest: Sendable {
  // Copy-on-write: shared by the copies of a request.
  private(set) var storage: CopiedBox<RequestFields>

  var fields: RequestFields {
    _read { yield storage.fields }
    _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = CopiedBox(storage.fields) }
      yield &storage.fields
    }
  }

  /// The URL that the transport gets: with canonical host and port, without user information and fragment.
  public var url: String { fields.address.url }

  /// The end-point, whose permit the request needs.
  public var endPoint: EndPoint { fields.address.endPoint }

  /// Whether the request uses TLS.
  public var isSecure: Bool { fields.address.isSecure }

  /// The method. Default: `GET`.
  public var method: HTTPRequest.Method {
    get { fields.method }
    set { fields.method = newValue }
  }

  /// The header fields. The transport sets `Content-Length`, `Connection` and `Transfer-Encoding` and ignores the
  /// values given here. A `Host` field replaces the URL's host.
  public var headerFields: HTTPFields {
    get { fields.headerFields }
    set { fields.headerFields = newValue }
  }

  /// The body. Default: none. Setting it also sets the `Content-Type` field to the body's ``RequestBody/contentType``, if
  /// it has one and the field is not set. The type that a body brought goes with that body.
  public var body: RequestBody? {
    get { fields.rare.body }
    set {
      if let last = fields.rare.body?.contentType, headerFields[.contentType] == last {
        headerFields[.contentType] = nil
      }
      fields.rare.body = newValue
      if let type = newValue?.contentType, headerFields[.contentType] == nil { headerFields[.contentType] = type }
    }
  }

  /// Whether to send `Expect: 100-continue` and wait for the server's answer before sending the body, so that a
  /// server can refuse the request first. If no answer comes within one second, the body is sent. Nil, the default:
  /// used for bodies larger than a megabyte and for bodies of unknown length, if the transport supports it. True
  /// requires ``TransportCapabilities/expectsContinue``.
  public var expectsContinue: Bool? {
    get { fields.rare.expectsContinue }
    set { fields.rare.expectsContinue = newValue }
  }

  /// Receives upload progress: after each hundredth of the body or 64 KB, whichever is more, and at the end. One call
  /// at a time, with a count that never decreases: if the body is sent again (redirect, retry, credential), progress
  /// is reported once it exceeds the earlier count.
  ///
  /// Called on the transport's thread, where it delays every other exchange: it must return soon, and blocking calls
  /// of the dispatcher throw. No call starts after the request has ended.
  public var onUploadProgress: TransferProgress.Listener? {
    get { fields.rare.onUploadProgress }
    set { fields.rare.onUploadProgress = newValue }
  }

  /// The maximum running time, counted from when the permit is granted. Waiting does not count: for the first permit,
  /// for that of a redirect, for a socket, for bandwidth, or for memory for the body. For a file, a stream, a delegate
  /// and every long request, which may last for any time, the timeout ends when the response's head has arrived;
  /// ``idleTimeout`` is for the rest. Default: 60 s. Nil: no limit. Zero or less: the request fails at once.
  public var timeout: Duration? {
    get { fields.timeout }
    set { fields.timeout = newValue }
  }

  /// Whether ``timeout`` ends when the response's head has arrived, whatever the destination. False: it covers the body
  /// too. Nil, the default: it ends with the head for a file, a stream and a delegate, and covers a body collected in
  /// memory. It always ends with the head of a long request.
  public var timeoutEndsWithHead: Bool? {
    get { fields.rare.timeoutEndsWithHead }
    set { fields.rare.timeoutEndsWithHead = newValue }
  }

  /// The maximum total time, counted from the submission, including waiting. Default: nil, no limit. Zero or less:
  /// the request fails at once.
  public var deadline: Duration? {
    get { fields.deadline }
    set { fields.deadline = newValue }
  }

  /// The maximum time for name look-up, connection and TLS handshake together. Default: 30 s, if the transport
  /// supports such a limit. Nil: no limit but `timeout`. If you set a limit, a transport without
  /// ``TransportCapabilities/connectTimeout`` fails the request with `unsupported`.
  public var connectTimeout: Duration? {
    get { fields.connectTimeout }
    set {
      fields.connectTimeout = newValue
      fields.needsConnectTimeout = newValue != nil
    }
  }

  /// The maximum time without data while the request runs: before the head, and between pieces of the body. Sending
  /// the request's body counts as activity. The clock stops while the consumer pauses the transfer, and while the
  /// request's body has no data to send. If it is never set: 60 s for a short request whose response goes to a file or a
  /// delegate, and no limit for others, so that a silent stream stays open. Nil: no limit.
  public var idleTimeout: Duration? {
    get { fields.rare.idleTimeout }
    set {
      fields.rare.idleTimeout = newValue
      fields.rare.hasIdleTimeout = true
    }
  }

  /// The maximum size of a body collected in memory, in bytes after decompression. Default: 64 MiB. Streams and files
  /// have no such limit; see ``maxDownloadBytes``.
  public var maxBodyBytes: Int {
    get { fields.rare.maxBodyBytes }
    set { fields.rare.maxBodyBytes = newValue }
  }

  /// The maximum size of the body in bytes as delivered, for any destination: memory, stream, file or delegate. A
  /// response that declares more fails with `bodyTooLarge` when its head arrives; one that exceeds the limit without
  /// declaring it fails as soon as it does so. The bodies of redirects that are followed don't count. Zero allows no
  /// body. Default: nil, no limit but ``maxBodyBytes``.
  public var maxDownloadBytes: Int? {
    get { fields.rare.maxDownloadBytes }
    set { fields.rare.maxDownloadBytes = newValue }
  }

  /// Whether to ask for a body compressed with gzip, which is unpacked as it arrives. Nil, the default: only if it is
  /// collected in memory. A request with its own `Accept-Encoding` gets the body as sent.
  ///
  /// A stream or a file is otherwise requested without compression, so that a file has the server's bytes, and can be
  /// continued after a failure. An unpacked file begins anew, since no server can say where its unpacked bytes go on.
  /// Only HeadgateCurl unpacks streams and files; other transports request them without compression.
  public var acceptsCompression: Bool? {
    get { fields.rare.acceptsCompression }
    set { fields.rare.acceptsCompression = newValue }
  }

  /// The minimum speed of the transfer; a slower one fails with `tooSlow`. Measured in intervals from when the
  /// request is sent, so the time before the head counts. Bytes of the response's body and of the request's body
  /// count. An interval is skipped if the consumer paused the transfer, if the request's body had no data, or if the
  /// request waited for a permit or a socket. Default: nil, no limit.
  public var minimumSpeed: TransferSpeed? {
    get { fields.rare.minimumSpeed }
    set { fields.rare.minimumSpeed = newValue }
  }

  /// Which redirects are followed. Default: `noDowngrade`, all but those from https to http.
  ///
  /// A redirect to another scheme, host or port keeps only these header fields: `Accept`, `Accept-Charset`,
  /// `Accept-Encoding`, `Accept-Language`, `Cache-Control`, `Pragma`, `User-Agent`; `Range` and the conditional ones
  /// (`If-Match` and similar); `Content-Type`, `Content-Encoding`, `Content-Language`, `Content-Location`,
  /// `Content-Range` and `Expect` if the body is kept; `traceparent` and `tracestate`, and other fields set by
  /// observers except `baggage`. An interceptor, which is called for each redirect, can add other fields that the new
  /// server needs.
  public var redirects: RedirectPolicy {
    get { fields.rare.redirects }
    set { fields.rare.redirects = newValue }
  }

  /// The maximum number of redirects. Default: 20. With 0 the redirect itself is the response.
  public var maxRedirects: Int {
    get { fields.rare.maxRedirects }
    set { fields.rare.maxRedirects = newValue }
  }

  /// The priority among requests that wait for the same end-point. Default: `normal`. Redirects keep it.
  public var priority: RequestPriority {
    get { fields.priority }
    set { fields.priority = newValue }
  }

  /// The scopes that the request belongs to, besides its end-point: see `GateLimits.scopes`. The request starts
  /// when its end-point and all scopes have room, and takes no permit from any of them before that. Redirects keep
  /// the scopes. Default: none.
  public var scopes: [RequestScope] {
    get { fields.rare.scopes }
    set { fields.rare.scopes = newValue }
  }

  /// The expected cost of the request, in units by budget name: see `Budget`. Charged when the request starts,
  /// to those budgets of its end-point and scopes that have these names. ``URLDispatchOperation/settle(_:)`` corrects
  /// the charge. A weight above the total of a budget fails the request at once with `tooHeavy`. Default: none.
  ///
  ///     request.weights = ["tokens": 4_096]
  public var weights: [String: Int] {
    get { fields.rare.weights }
    set { fields.rare.weights = newValue }
  }

  /// Reads the request's actual weight from a response's head, in units by budget name. Nil if the head does not
  /// contain it.
  public typealias Settlement = @Sendable (ResponseHead) -> [String: Int]?

  /// Corrects the charge from a header field in which the server reports the actual weight. Called with the head of
  /// each response to the request, including refusals and redirects. The result corrects the charge of the attempt that
  /// the response belongs to, like ``URLDispatchOperation/settle(_:)``, which then has no effect for that attempt.
  /// Called on the transport's thread, where it delays every other exchange: it must return soon, and blocking calls of
  /// the dispatcher throw. Not called for a request without ``weights``. Default: nil.
  ///
  ///     request.settlement = { head in head[.contentLength].flatMap { Int($0) }.map { ["bytes": $0] } }
  public var settlement: Settlement? {
    get { fields.rare.settlement }
    set { fields.rare.settlement = newValue }
  }

  /// When a failed request is sent again. Default: nil, never, with one exception.
  ///
  /// A connection kept open may turn out to be closed when a request is sent over it. Then the request is sent again
  /// immediately, but only once, under its permit and over a new connection, if it can be repeated: a GET, HEAD,
  /// OPTIONS, TRACE, PUT, DELETE or QUERY, or any request with an `Idempotency-Key` field, whose body can be sent
  /// again. A POST or PATCH without that field is never repeated. `RetryPolicy(attempts: 1)` disables this too.
  /// ``DispatchTimes/attempts`` counts the repetition.
  public var retry: RetryPolicy? {
    get { fields.rare.retry }
    set { fields.rare.retry = newValue }
  }

  /// The capabilities that the request requires. A transport that lacks one of them fails the request with
  /// `unsupported`. Default: none. See ``TransportCapabilities``.
  public var requires: TransportCapabilities {
    get { fields.rare.requires }
    set { fields.rare.requires = newValue }
  }

  /// A tag for cancelling all requests that carry it: see ``URLDispatcher/cancelAll(tag:)``. Default: none.
  public var tag: String? {
    get { fields.rare.tag }
    set { fields.rare.tag = newValue }
  }

  /// Creates a request to an absolute http or https URL, or to a server behind a Unix-domain socket:
  /// `http+unix://%2Frun%2Fx.sock/path` (`https+unix` for TLS), with the socket's path percent-encoded.
  ///
  /// User information in the URL becomes a Basic `Authorization` field. Invalid characters are percent-encoded.
  ///
  /// - Throws: `DispatchError` with the code `invalidURL`.
  public init(
    _ url: String, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: RequestBody? = nil
  ) throws(DispatchError) {
    let address = try RequestAddress(url)
    var headerFields = headerFields
    if let credentials = address.credentials, headerFields[.authorization] == nil {
      headerFields[.authorization] = AuthenticationAnswer.basicAuthorization(credentials)
    }
    storage = CopiedBox(RequestFields(address, method, headerFields))
    if body != nil { self.body = body }
  }

  /// Creates a request to an absolute http or https URL.
  ///
  /// - Throws: `DispatchError` with the code `invalidURL`.
  public init(
    _ url: URL, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: RequestBody? = nil
  ) throws(DispatchError) {
    try self.init(url.absoluteString, method: method, headerFields: headerFields, body: body)
  }
}
