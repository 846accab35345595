import HTTPTypes
import HeadgateThreads

/// What a request consists of, behind one reference: a request is copied at every step of its way.
///
/// A hundred thousand of them may wait, most of them plain: what hardly any request sets stands in an object of its own
/// and costs all others one word.
// Unchecked: `settings` is written to by `DispatchRequest.change` only, while one request alone refers to the object; nobody
// else can look at it then. What `rareBox` refers to is written to under the same condition.
final class RequestFields: @unchecked Sendable {
  /// The parts that may be set.
  struct Settings: Sendable {
    var method: HTTPRequest.Method
    var headerFields: HTTPFields
    var timeout: Duration? = .seconds(60)
    var connectTimeout: Duration? = .seconds(30)
    // The caller set a limit: a transport that can't keep it must not carry the request.
    var needsConnectTimeout = false
    var deadline: Duration?
    var priority = RequestPriority.normal
    fileprivate var rareBox: RareBox?

    init(method: HTTPRequest.Method, headerFields: HTTPFields, body: RequestBody?) {
      (self.method, self.headerFields) = (method, headerFields)
      if body != nil { rare.body = body }
    }

    var rare: RareSettings {
      get { rareBox?.settings ?? RareSettings() }
      _modify {
        var box = rareBox.take() ?? RareBox(RareSettings())
        if !isKnownUniquelyReferenced(&box) { box = RareBox(box.settings) }
        defer { rareBox = box }
        yield &box.settings
      }
    }
  }

  /// The parts that hardly any request sets.
  struct RareSettings: Sendable {
    var body: RequestBody?
    var idleTimeout: Duration?
    var maxBodyBytes = usualMaxBodyBytes
    var maxRedirects = usualMaxRedirects
    var tag: String?
    var retry: RetryPolicy?
    var expectsContinue: Bool?
    var onUploadProgress: (@Sendable (UploadProgress) -> Void)?
    var requires: TransportCapabilities = []
    var redirects = RedirectPolicy.noDowngrade
    // Not the caller's to set: a redirect of a public server led here.
    var refusesPrivateAddresses = false
    // The names of the header fields that observers have set.
    var observersFields: Set<HTTPField.Name> = []
    var maxDownloadBytes: Int?
    var leastSpeed: TransferSpeed?

    static let usualMaxBodyBytes = 64 << 20
    static let usualMaxRedirects = 20
  }

  // Unchecked: as said of `RequestFields`.
  fileprivate final class RareBox: @unchecked Sendable {
    @exclusivity(unchecked) var settings: RareSettings

    // Asked of every request: where there is no such object nothing is copied to look at.
    var mayRetry: Bool { settings.retry != nil }
    var hasBody: Bool { settings.body != nil }
    var hasDownloadLimits: Bool { settings.maxDownloadBytes != nil || settings.leastSpeed != nil }

    init(_ settings: consuming RareSettings) { self.settings = settings }
  }

  let address: RequestAddress
  // Not checked at each access, which happens at every step of the way: see above.
  @exclusivity(unchecked) var settings: Settings

  var method: HTTPRequest.Method { settings.method }
  var headerFields: HTTPFields { settings.headerFields }
  var timeout: Duration? { settings.timeout }
  var connectTimeout: Duration? { settings.connectTimeout }
  var needsConnectTimeout: Bool { settings.needsConnectTimeout }
  var deadline: Duration? { settings.deadline }
  var priority: RequestPriority { settings.priority }
  private var rare: RareBox? { settings.rareBox }
  var body: RequestBody? { rare?.settings.body }
  var idleTimeout: Duration? { rare?.settings.idleTimeout }
  var maxBodyBytes: Int { rare?.settings.maxBodyBytes ?? RareSettings.usualMaxBodyBytes }
  var maxRedirects: Int { rare?.settings.maxRedirects ?? RareSettings.usualMaxRedirects }
  var tag: String? { rare?.settings.tag }
  var retry: RetryPolicy? { rare?.settings.retry }
  var expectsContinue: Bool? { rare?.settings.expectsContinue }
  var onUploadProgress: (@Sendable (UploadProgress) -> Void)? { rare?.settings.onUploadProgress }
  var requires: TransportCapabilities { rare?.settings.requires ?? [] }
  var redirects: RedirectPolicy { rare?.settings.redirects ?? .noDowngrade }
  var refusesPrivateAddresses: Bool { rare?.settings.refusesPrivateAddresses ?? false }
  var observersFields: Set<HTTPField.Name> { rare?.settings.observersFields ?? [] }
  var maxDownloadBytes: Int? { rare?.settings.maxDownloadBytes }
  var leastSpeed: TransferSpeed? { rare?.settings.leastSpeed }

  /// The limits on time in nanoseconds.
  var timeoutNanoseconds: Int64? { settings.timeout?.wholeNanoseconds }
  var deadlineNanoseconds: Int64? { settings.deadline?.wholeNanoseconds }
  var idleNanoseconds: Int64? { rare?.settings.idleTimeout?.wholeNanoseconds }
  /// Whether it may be sent again.
  var mayRetry: Bool { rare?.mayRetry ?? false }
  /// Whether it has a body.
  var hasBody: Bool { rare?.hasBody ?? false }
  /// Whether what comes is counted.
  var hasDownloadLimits: Bool { rare?.hasDownloadLimits ?? false }

  init(_ address: RequestAddress, _ settings: consuming Settings) {
    self.address = address
    self.settings = settings
  }

  /// The same for those who only look at it; itself where it has no body.
  var withoutBody: RequestFields {
    guard hasBody else { return self }
    return changed { settings in
      settings.rare.body = nil
      settings.rare.onUploadProgress = nil
    }
  }

  /// The same with some settings changed, or to another address.
  func changed(address: RequestAddress? = nil, _ change: (inout Settings) -> Void) -> RequestFields {
    var settings = settings
    change(&settings)
    return RequestFields(address ?? self.address, settings)
  }
}
