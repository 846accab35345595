import HTTPTypes
import HeadgateThreads

/// What a request consists of, immutable. Whoever changes a request makes a new one of these.
///
/// A hundred thousand of them may wait, most of them plain: what hardly any request sets stands in an object of its own
/// and costs all others one word.
final class RequestFields: Sendable {
  /// The parts that may be set.
  struct Settings: Sendable {
    var method: HTTPRequest.Method
    var headerFields: HTTPFields
    var timeout: Duration? = .seconds(60)
    var connectTimeout: Duration? = .seconds(30)
    fileprivate var rareBox: RareBox?

    init(method: HTTPRequest.Method, headerFields: HTTPFields, body: RequestBody?) {
      (self.method, self.headerFields) = (method, headerFields)
      if body != nil { rare.body = body }
    }

    var rare: RareSettings {
      get { rareBox?.settings ?? RareSettings() }
      set { rareBox = RareBox(newValue) }
    }
  }

  /// The parts that hardly any request sets.
  struct RareSettings: Sendable {
    var body: RequestBody?
    var deadline: Duration?
    var idleTimeout: Duration?
    var maxBodyBytes = 64 << 20
    var maxRedirects = 20
    var priority = RequestPriority.normal
    var tag: String?
    var retry: RetryPolicy?
    var expectsContinue: Bool?
    var onUploadProgress: (@Sendable (UploadProgress) -> Void)?
    var requires: TransportCapabilities = []
  }

  fileprivate final class RareBox: Sendable {
    let settings: RareSettings
    init(_ settings: consuming RareSettings) { self.settings = settings }
  }

  let address: RequestAddress
  private let settings: Settings
  /// The limits on time in nanoseconds: converted once, not at each step of the way.
  let timeoutNanoseconds: Int64?
  let deadlineNanoseconds: Int64?
  let idleNanoseconds: Int64?
  // Asked of every request, at the end of its body and at each head.
  let maxBodyBytes: Int
  let priority: RequestPriority
  /// Whether it may be sent again.
  let mayRetry: Bool
  /// Whether it has a body: asked at each step of the way, where a copy of the body to look at would be felt.
  let hasBody: Bool

  var method: HTTPRequest.Method { settings.method }
  var headerFields: HTTPFields { settings.headerFields }
  var timeout: Duration? { settings.timeout }
  var connectTimeout: Duration? { settings.connectTimeout }
  private var rare: RareBox? { settings.rareBox }
  var body: RequestBody? { rare?.settings.body }
  var deadline: Duration? { rare?.settings.deadline }
  var idleTimeout: Duration? { rare?.settings.idleTimeout }
  var maxRedirects: Int { rare?.settings.maxRedirects ?? RareSettings().maxRedirects }
  var tag: String? { rare?.settings.tag }
  var retry: RetryPolicy? { rare?.settings.retry }
  var expectsContinue: Bool? { rare?.settings.expectsContinue }
  var onUploadProgress: (@Sendable (UploadProgress) -> Void)? { rare?.settings.onUploadProgress }
  var requires: TransportCapabilities { rare?.settings.requires ?? [] }

  init(_ address: RequestAddress, _ settings: consuming Settings) {
    self.address = address
    timeoutNanoseconds = settings.timeout?.wholeNanoseconds
    if let box = settings.rareBox {
      deadlineNanoseconds = box.settings.deadline?.wholeNanoseconds
      idleNanoseconds = box.settings.idleTimeout?.wholeNanoseconds
      mayRetry = box.settings.retry != nil
      hasBody = box.settings.body != nil
      (maxBodyBytes, priority) = (box.settings.maxBodyBytes, box.settings.priority)
    } else {
      let usual = RareSettings()
      (deadlineNanoseconds, idleNanoseconds, mayRetry, hasBody) = (nil, nil, false, false)
      (maxBodyBytes, priority) = (usual.maxBodyBytes, usual.priority)
    }
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
