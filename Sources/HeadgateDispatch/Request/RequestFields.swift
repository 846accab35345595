import HTTPTypes
import HeadgateThreads

/// The properties of a request.
///
/// A hundred thousand requests may wait, most of them plain. Rarely used properties are stored in a separate object,
/// which all plain requests share.
struct RequestFields: Sendable {
  var address: RequestAddress
  var method: HTTPRequest.Method
  var headerFields: HTTPFields
  var timeout: Duration? = .seconds(60)
  var connectTimeout: Duration? = .seconds(30)
  // Set if the caller set the limit: a transport that does not support it must not carry the request.
  var needsConnectTimeout = false
  var deadline: Duration?
  var priority = RequestPriority.normal
  private var rareBox = RequestFields.usual

  // Never modified: this reference makes it non-unique.
  private static let usual = CopiedBox(Rare())

  init(_ address: RequestAddress, _ method: HTTPRequest.Method, _ headerFields: HTTPFields) {
    (self.address, self.method, self.headerFields) = (address, method, headerFields)
  }

  /// The limit on silence, in nanoseconds, of files and short delegates that set none: one minute.
  static let usualIdleLimit: Int64 = 60_000_000_000

  /// The rarely used properties.
  struct Rare: Sendable {
    var body: RequestBody? { didSet { hasBody = body != nil } }
    // Asking for the body itself would copy it.
    private(set) var hasBody = false
    var idleTimeout: Duration?
    var timeoutEndsWithHead: Bool?
    // Set if the caller set the limit, perhaps to none.
    var hasIdleTimeout = false
    var maxBodyBytes = 64 << 20
    var maxRedirects = 20
    var tag: String?
    var retry: RetryPolicy?
    var expectsContinue: Bool?
    var onUploadProgress: TransferProgress.Listener?
    var requires: TransportCapabilities = []
    var redirects = RedirectPolicy.noDowngrade
    // Set internally, after a redirect from a public server.
    var refusesPrivateAddresses = false
    // The names of header fields set by observers.
    var observersFields: Set<HTTPField.Name> = []
    var maxDownloadBytes: Int?
    var acceptsCompression: Bool?
    var minimumSpeed: TransferSpeed?
    var scopes: [RequestScope] = []
    var weights: [String: Int] = [:]
    var settlement: DispatchRequest.Settlement?
  }

  var rare: Rare {
    _read { yield rareBox.fields }
    _modify {
      if !isKnownUniquelyReferenced(&rareBox) { rareBox = CopiedBox(rareBox.fields) }
      yield &rareBox.fields
    }
  }

  var retry: RetryPolicy? { rare.retry }
  var timeoutNanoseconds: Int64? { timeout?.wholeNanoseconds }
  var deadlineNanoseconds: Int64? { deadline?.wholeNanoseconds }
  /// The limit on silence, or that of its destination if it sets none.
  func idleNanoseconds(usually usual: Int64?) -> Int64? {
    rare.hasIdleTimeout ? rare.idleTimeout?.wholeNanoseconds : usual
  }
  /// Whether the request may be sent again.
  var mayRetry: Bool { rare.retry != nil }
  /// Whether it has a body.
  var hasBody: Bool { rare.hasBody }
  /// Whether the response's bytes are measured.
  var hasDownloadLimits: Bool { rare.maxDownloadBytes != nil || rare.minimumSpeed != nil }
  /// Whether the request has weights.
  var hasWeights: Bool { !rare.weights.isEmpty }
}

/// Fields behind one reference, because a request is copied often.
// Unchecked: `fields` is written only while a single request refers to the object, so no other thread can read it
// then.
final class CopiedBox<Fields: Sendable>: @unchecked Sendable {
  // Exclusivity checks are off, because accesses are frequent. The proof above applies.
  @exclusivity(unchecked) var fields: Fields

  init(_ fields: consuming Fields) { self.fields = fields }
}
