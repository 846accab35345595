import HTTPTypes
import HeadgateThreads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request: where to, what with, and how long it may take.
///
///     var request = try DispatchRequest("https://example.com/items")
///     request.headerFields[.accept] = "application/json"
///     request.timeout = .seconds(10)
public struct DispatchRequest: Sendable {
  // Shared by the copies of a request until one of them is changed.
  private var storage: RequestFields

  var fields: RequestFields { storage }

  /// The URL as it goes to the transport: canonical host and port, no user information, no fragment.
  public var url: String { storage.address.url }

  /// Where it goes, and whose permit it needs.
  public var endPoint: EndPoint { storage.address.endPoint }

  /// Whether it goes over TLS.
  public var isSecure: Bool { storage.address.isSecure }

  /// `GET` unless set.
  public var method: HTTPRequest.Method {
    get { storage.method }
    set { change { $0.method = newValue } }
  }

  /// The header fields. `Content-Length`, `Connection` and `Transfer-Encoding` are the transport's, which leaves out
  /// what is given for them; a `Host` stands in for that of the URL.
  public var headerFields: HTTPFields {
    get { storage.headerFields }
    set { change { $0.headerFields = newValue } }
  }

  /// The body; none unless set.
  public var body: RequestBody? {
    get { storage.body }
    set { change { $0.rare.body = newValue } }
  }

  /// Whether the server is asked, by `Expect: 100-continue`, before the body is sent: then one that refuses it says so
  /// first, and nothing is sent in vain. A server that knows nothing of it is waited for a second. Nil, which it is
  /// unless set: bodies of more than a megabyte, and those whose length is not known, are asked for, where the transport
  /// can. True needs ``TransportCapabilities/expectsContinue``.
  public var expectsContinue: Bool? {
    get { storage.expectsContinue }
    set { change { $0.rare.expectsContinue = newValue } }
  }

  /// Told how much of the body has been sent: after a hundredth of it or 64 KB, whichever is more, and at its end. One
  /// call at a time, never with less than before; a body that is sent again (a redirect, a retry, a credential) is told
  /// of once it goes beyond what was sent before.
  ///
  /// Called on the thread of the transport that takes the bytes, where every other exchange waits: it must return soon,
  /// and blocking calls of the dispatcher are refused. None begins after the request has ended.
  public var onUploadProgress: (@Sendable (UploadProgress) -> Void)? {
    get { storage.onUploadProgress }
    set { change { $0.rare.onUploadProgress = newValue } }
  }

  /// How long it may run, from the moment its permit is granted; waiting never counts, be it for the first permit,
  /// for that of a redirect, for a socket, or for memory to gather the body in. A long request's ends when the response's head has come. 60 s unless set; nil: no
  /// limit. Zero or less ends it at once.
  public var timeout: Duration? {
    get { storage.timeout }
    set { change { $0.timeout = newValue } }
  }

  /// How long it may take from its submission, waiting included. Nil, which it is unless set: no limit. Zero or less
  /// ends it at once.
  public var deadline: Duration? {
    get { storage.deadline }
    set { change { $0.deadline = newValue } }
  }

  /// How long the name look-up, the connection and the TLS handshake may take together. 30 s unless set, where the
  /// transport can keep such a limit; nil: no limit but `timeout`. With one that was set a request ends with `unsupported`
  /// over a transport without ``TransportCapabilities/connectTimeout``.
  public var connectTimeout: Duration? {
    get { storage.connectTimeout }
    set {
      change { settings in
        settings.connectTimeout = newValue
        settings.needsConnectTimeout = newValue != nil
      }
    }
  }

  /// How long the end-point may be silent while the request runs: before the head, and between pieces of the body. What
  /// is sent of the request's own body counts as a word of it. Rests while the consumer itself holds the transfer, and
  /// while the request's body is not there to be sent. Nil, which it is unless set: no limit.
  public var idleTimeout: Duration? {
    get { storage.idleTimeout }
    set { change { $0.rare.idleTimeout = newValue } }
  }

  /// The largest whole body that is taken, in bytes, after decompression: 64 MiB unless set. Streams and files have no
  /// such cap, unless ``maxDownloadBytes`` sets one.
  public var maxBodyBytes: Int {
    get { storage.maxBodyBytes }
    set { change { $0.rare.maxBodyBytes = newValue } }
  }

  /// The largest body that is taken, in bytes as they are handed over, whatever they are handed to: a stream, a file, a
  /// delegate. A response that declares more ends the request with the error `bodyTooLarge` at its head, one that
  /// brings more as soon as it does; the bodies of redirects that are followed don't count. Zero: none may come. Nil,
  /// which it is unless set: no limit but ``maxBodyBytes``.
  public var maxDownloadBytes: Int? {
    get { storage.maxDownloadBytes }
    set { change { $0.rare.maxDownloadBytes = newValue } }
  }

  /// How fast the transfer must be at least, else the request ends with the error `tooSlow`. Looked at span by span
  /// from when it is sent, so that the time until the head counts too: the bytes of the response's body, and those of
  /// the request's own that are sent. A span does not count in which the consumer held the transfer, the request's body
  /// was not there to be sent, or the request waited for a permit or a socket. Nil, which it is unless set: no limit.
  public var leastSpeed: TransferSpeed? {
    get { storage.leastSpeed }
    set { change { $0.rare.leastSpeed = newValue } }
  }

  /// Which redirects are followed: `noDowngrade` unless set, all but those from https to http.
  ///
  /// To another scheme, host or port only these of the header fields go along: `Accept`, `Accept-Charset`,
  /// `Accept-Encoding`, `Accept-Language`, `Cache-Control`, `Pragma`, `User-Agent`; `Range` and the conditional ones
  /// (`If-Match` and the like); `Content-Type`, `Content-Encoding`, `Content-Language`, `Content-Location`,
  /// `Content-Range` and `Expect` if the body goes along; `traceparent` and `tracestate`, and what else observers have
  /// set but `baggage`. Whatever else the server there needs, an interceptor can give it, which is asked at each
  /// redirect.
  public var redirects: RedirectPolicy {
    get { storage.redirects }
    set { change { $0.rare.redirects = newValue } }
  }

  /// How many redirects are followed: 20 unless set; 0 hands the redirect itself to the caller.
  public var maxRedirects: Int {
    get { storage.maxRedirects }
    set { change { $0.rare.maxRedirects = newValue } }
  }

  /// How soon it starts, among those that wait for the same end-point: `normal` unless set. Redirects keep it.
  public var priority: RequestPriority {
    get { storage.priority }
    set { change { $0.priority = newValue } }
  }

  /// Whether it is sent again when it fails. Nil, which it is unless set: it is not, but for one case.
  ///
  /// A connection that was kept open may turn out to be closed when a request is sent over it. Then the request is sent
  /// once more at once, under its permit and over a new connection, if it may be repeated: GET, HEAD, OPTIONS, TRACE,
  /// PUT, DELETE, QUERY, or what has an `Idempotency-Key` field, with a body only if that can be sent again; a POST or
  /// PATCH without that field never. `RetryPolicy(attempts: 1)` keeps it from that too. ``DispatchTimes/attempts``
  /// counts it.
  public var retry: RetryPolicy? {
    get { storage.retry }
    set { change { $0.rare.retry = newValue } }
  }

  /// What it can't do without: a transport that lacks some of it ends it with the error `unsupported`. Nothing unless
  /// set. See ``TransportCapabilities``.
  public var requires: TransportCapabilities {
    get { storage.requires }
    set { change { $0.rare.requires = newValue } }
  }

  /// A word to cancel it by, together with all others that carry it: see ``URLDispatcher/cancelAll(tag:)``. None unless
  /// set.
  public var tag: String? {
    get { storage.tag }
    set { change { $0.rare.tag = newValue } }
  }

  /// A request to an absolute http or https URL, or to one behind a Unix-domain socket:
  /// `http+unix://%2Frun%2Fx.sock/path` (`https+unix` with TLS), the socket's path percent-encoded.
  ///
  /// User information in the URL becomes a Basic `Authorization` field. Characters that a URL can't hold are
  /// percent-encoded.
  ///
  /// - Throws: ``DispatchError`` with the code `invalidURL`.
  public init(
    _ url: String, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: RequestBody? = nil
  ) throws(DispatchError) {
    let address = try RequestAddress(url)
    var headerFields = headerFields
    if let credentials = address.credentials, headerFields[.authorization] == nil {
      headerFields[.authorization] = basicAuthorization(credentials)
    }
    storage = RequestFields(
      address, RequestFields.Settings(method: method, headerFields: headerFields, body: body))
  }

  /// A request to an absolute http or https URL.
  ///
  /// - Throws: ``DispatchError`` with the code `invalidURL`.
  public init(
    _ url: URL, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: RequestBody? = nil
  ) throws(DispatchError) {
    try self.init(url.absoluteString, method: method, headerFields: headerFields, body: body)
  }

  init(_ fields: RequestFields) { storage = fields }

  /// Sets header fields on behalf of observers.
  mutating func setObserversFields(_ added: [HTTPField]) {
    change { settings in
      for field in added { settings.headerFields[field.name] = field.value }
      settings.rare.observersFields.formUnion(added.map(\.name))
    }
  }

  private mutating func change(_ change: (inout RequestFields.Settings) -> Void) {
    if isKnownUniquelyReferenced(&storage) { change(&storage.settings) } else { storage = storage.changed(change) }
  }
}
