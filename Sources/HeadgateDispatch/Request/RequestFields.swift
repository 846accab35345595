import HTTPTypes
import HeadgateThreads

/// What a request consists of, immutable. Whoever changes a request makes a new one of these.
final class RequestFields: Sendable {
  /// The parts that may be set.
  struct Settings: Sendable {
    var method: HTTPRequest.Method
    var headerFields: HTTPFields
    var body: RequestBody?
    var timeout: Duration? = .seconds(60)
    var deadline: Duration?
    var connectTimeout: Duration? = .seconds(30)
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

  let address: RequestAddress
  private let settings: Settings
  /// The limits on time in nanoseconds: converted once, not at each step of the way.
  let timeoutNanoseconds: Int64?
  let deadlineNanoseconds: Int64?
  let idleNanoseconds: Int64?
  /// Whether it may be sent again.
  let mayRetry: Bool
  /// Whether it has a body: asked at each step of the way, where a copy of the body to look at would be felt.
  let hasBody: Bool

  var method: HTTPRequest.Method { settings.method }
  var headerFields: HTTPFields { settings.headerFields }
  var body: RequestBody? { settings.body }
  var timeout: Duration? { settings.timeout }
  var deadline: Duration? { settings.deadline }
  var connectTimeout: Duration? { settings.connectTimeout }
  var idleTimeout: Duration? { settings.idleTimeout }
  var maxBodyBytes: Int { settings.maxBodyBytes }
  var maxRedirects: Int { settings.maxRedirects }
  var priority: RequestPriority { settings.priority }
  var tag: String? { settings.tag }
  var retry: RetryPolicy? { settings.retry }
  var expectsContinue: Bool? { settings.expectsContinue }
  var onUploadProgress: (@Sendable (UploadProgress) -> Void)? { settings.onUploadProgress }
  var requires: TransportCapabilities { settings.requires }

  init(_ address: RequestAddress, _ settings: consuming Settings) {
    self.address = address
    timeoutNanoseconds = settings.timeout?.wholeNanoseconds
    deadlineNanoseconds = settings.deadline?.wholeNanoseconds
    idleNanoseconds = settings.idleTimeout?.wholeNanoseconds
    mayRetry = settings.retry != nil
    hasBody = settings.body != nil
    self.settings = settings
  }

  /// The same with some settings changed, or to another address.
  func changed(address: RequestAddress? = nil, _ change: (inout Settings) -> Void) -> RequestFields {
    var settings = settings
    change(&settings)
    return RequestFields(address ?? self.address, settings)
  }
}
