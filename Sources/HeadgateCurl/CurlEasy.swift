import CCurl
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One of libcurl's easy handles, used for one exchange after another on the loop's thread.
///
/// The callbacks get this object, and find in it the exchange of the moment: a pointer is set once, and not for each
/// exchange.
final class CurlEasy {
  private(set) var handle: UnsafeMutableRawPointer
  // The exchange under way. Unretained: the loop keeps it until the handle is taken back.
  private(set) var transfer: Unmanaged<CurlTransfer>?
  private var url: CurlURL
  /// For the lines of its exchange's head.
  var headBuffer = HeadBuffer()
  private let configuration: CurlTransport.Configuration
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var proxyHeaders: UnsafeMutablePointer<curl_slist>?
  // The handle, or the one before it, is set up for a GET without fields of its own: the next one of the kind needs its
  // URL only.
  private var plainShape: Shape?
  // Nothing was set yet.
  private var isNew = true
  private var isIPv4Only = false
  // Whether the present request says that it takes a compressed body.
  private var asksForGzip = false
  // libcurl writes into it what went wrong. Freed in deinit, after the handle.
  private let said = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// What a handle is set up for besides the request's method, fields and body.
  private struct Shape {
    let connectTimeout: Duration?
    let mayPause: Bool
    let inflates: Bool
    let shares: Bool
    let proxy: CurlProxy?
    /// The path of a Unix-domain socket; nil for none.
    let socket: String?

    init(_ transfer: CurlTransfer, _ request: DispatchRequest) {
      connectTimeout = request.connectTimeout
      mayPause = transfer.exchange.mayPause
      inflates = transfer.asksForGzip
      shares = transfer.offersHTTP2
      proxy = transfer.proxy
      socket = request.endPoint.isUnixSocket ? request.endPoint.host : nil
    }

    /// Whether another exchange needs the same.
    func suits(_ transfer: CurlTransfer, _ request: DispatchRequest) -> Bool {
      connectTimeout == request.connectTimeout && mayPause == transfer.exchange.mayPause
        && inflates == transfer.asksForGzip
        && shares == transfer.offersHTTP2 && proxy == transfer.proxy
        && (request.endPoint.isUnixSocket ? socket == request.endPoint.host : socket == nil)
    }
  }

  init?(_ configuration: CurlTransport.Configuration) {
    guard let url = CurlURL(), let handle = curl_easy_init() else { return nil }
    self.url = url
    self.handle = handle
    self.configuration = configuration
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(headers)
    curl_slist_free_all(proxyHeaders)
    said.deallocate()
  }

  func prepare(_ transfer: CurlTransfer) {
    let request = transfer.exchange.request
    let wantsPlain = request.method == .get && request.headerFields.isEmpty && transfer.upload == nil
    let isSetUp = wantsPlain && plainShape?.suits(transfer, request) == true
    if isNew || !isSetUp {
      let shape = Shape(transfer, request)
      if !isNew { curl_easy_reset(handle) }
      isNew = false
      isIPv4Only = false
      setCommonOptions()
      set(shape)
      set(request, transfer.upload, shape)
      if !isSetUp { makeHeaders(request, transfer.upload, tunnels: shape.proxy?.tunnels(to: request) ?? false) }
      ccurl_set_list(handle, CURLOPT_PROXYHEADER, proxyHeaders)
      ccurl_set_list(handle, CURLOPT_HTTPHEADER, headers)
      plainShape = wantsPlain ? shape : nil
    }
    said[0] = 0
    headBuffer.removeAll()
    if isIPv4Only || transfer.dialling != .any { dial(transfer.dialling, within: transfer.timeToConnect) }
    if transfer.needsNewConnection {
      ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
      plainShape = nil
    }
    let text = request.wireURL
    if url.set(text) {
      ccurl_set_url(handle, url.handle)
    } else {
      // It says itself what is wrong with it.
      ccurl_set_url(handle, nil)
      ccurl_set_string(handle, CURLOPT_URL, text)
    }
    self.transfer = Unmanaged.passUnretained(transfer)
    // It is good for the time of the exchange and of its connection: the loop keeps the sockets while one of them is open
    // or an exchange uses them.
    if let sockets = transfer.sockets {
      ccurl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
    }
  }

  /// The exchange is over.
  func forgetTransfer() { transfer = nil }

  /// Takes another of libcurl's handles for the next exchange: see ``CurlVersion``. False when there is no memory for it.
  func renew() -> Bool {
    guard let another = curl_easy_init() else { return false }
    curl_easy_cleanup(handle)
    handle = another
    isNew = true
    return true
  }

  private func setCommonOptions() {
    // libcurl calls with it only while the handle is under way, and then the loop keeps this object.
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    for option in [
      CURLOPT_PRIVATE, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_PREREQDATA, CURLOPT_SSL_CTX_DATA,
      CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_OPENSOCKETDATA,
    ] {
      ccurl_set_pointer(handle, option, pointer)
    }
    ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    ccurl_set_quick_exit(handle)
    ccurl_set_protocols(handle)
    ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, said)
    ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0)
    ccurl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1)
    // One address after another: a second attempt beside the first would be a second socket.
    ccurl_set_long(handle, CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, 3_600_000)
    setTLSOptions()
    ccurl_set_data_function(handle, CURLOPT_WRITEFUNCTION, CurlCallbacks.write)
    ccurl_set_data_function(handle, CURLOPT_HEADERFUNCTION, CurlCallbacks.header)
    ccurl_set_open_function(handle, CurlCallbacks.openSocket)
    ccurl_set_close_function(handle, CurlCallbacks.closeSocket)
    ccurl_set_prerequest_function(handle, CurlCallbacks.prerequest)
    // Only OpenSSL and its like call it; without it a phase is named a little less exactly.
    ccurl_set_tls_function(handle, CurlCallbacks.tls)
  }

  private func setTLSOptions() {
    switch configuration.trust.value {
    case .system: break
    case .authority(let file):
      ccurl_set_string(handle, CURLOPT_CAINFO, file)
      ccurl_set_string(handle, CURLOPT_CAPATH, nil)
    case .folder(let folder):
      ccurl_set_string(handle, CURLOPT_CAINFO, nil)
      ccurl_set_string(handle, CURLOPT_CAPATH, folder)
    case .nobody:
      ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 0)
      ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 0)
    }
    ccurl_set_long(handle, CURLOPT_SSLVERSION, configuration.minimumTLS.number)
    guard let certificate = configuration.clientCertificate else { return }
    ccurl_set_string(handle, CURLOPT_SSLCERT, certificate.file)
    ccurl_set_string(handle, CURLOPT_SSLKEY, certificate.keyFile)
    // An empty one, or OpenSSL would ask on the terminal.
    ccurl_set_string(handle, CURLOPT_KEYPASSWD, certificate.password ?? "")
  }

  private func set(_ shape: Shape) {
    ccurl_set_long(handle, CURLOPT_HTTP_VERSION, shape.shares ? CCURL_HTTP_VERSION_2TLS : CCURL_HTTP_VERSION_1_1)
    // An empty list of exceptions, or libcurl would look into the environment.
    ccurl_set_string(handle, CURLOPT_NOPROXY, "")
    if let proxy = shape.proxy {
      ccurl_set_string(handle, CURLOPT_PROXY, "\(proxy.scheme)://\(proxy.endPoint)")
      if !proxy.user.isEmpty { ccurl_set_string(handle, CURLOPT_PROXYUSERNAME, proxy.user) }
      if !proxy.password.isEmpty { ccurl_set_string(handle, CURLOPT_PROXYPASSWORD, proxy.password) }
      // The proxy's answer to the question for a tunnel is no response, and what is for the end-point is not for it.
      ccurl_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      ccurl_set_long(handle, CURLOPT_HEADEROPT, CCURL_HEADER_SEPARATE)
    } else {
      ccurl_set_string(handle, CURLOPT_PROXY, "")
    }
    if let socket = shape.socket {
      ccurl_set_string(handle, CURLOPT_UNIX_SOCKET_PATH, socket)
    } else if let jar = configuration.cookies {
      ccurl_set_share(handle, jar.share)
      ccurl_set_string(handle, CURLOPT_COOKIEFILE, "")
    }
  }

  /// Says which addresses of a name are to be tried, and how long.
  private func dial(_ dialling: CurlTransfer.Dialling, within limit: Duration?) {
    isIPv4Only = dialling == .ipv4
    ccurl_set_long(handle, CURLOPT_IPRESOLVE, Int(isIPv4Only ? CURL_IPRESOLVE_V4 : CURL_IPRESOLVE_WHATEVER))
    setConnectTimeout(limit)
    // The next exchange has a limit of its own.
    plainShape = nil
  }

  private func setConnectTimeout(_ limit: Duration?) {
    // Zero would mean libcurl's own 300 s; none is as long as it can say.
    let milliseconds = limit.map { Int(min(max(1, $0.wholeNanoseconds / 1_000_000), Int64(Int32.max))) }
    ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds ?? Int(Int32.max))
  }

  private func set(_ request: DispatchRequest, _ upload: CurlUpload?, _ shape: Shape) {
    setConnectTimeout(request.connectTimeout)
    if request.method == .head {
      ccurl_set_long(handle, CURLOPT_NOBODY, 1)
    } else if let upload {
      set(upload, request.method)
    } else if request.method != .get {
      ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    }
    // A large buffer means few reads for streams and files. libcurl allocates it for each exchange, so a short response
    // is better off with its default of 16 KB.
    if shape.mayPause { ccurl_set_long(handle, CURLOPT_BUFFERSIZE, 256 * 1024) }
    // The proxy that is asked for a tunnel hears of it by the option only.
    let tunnels = shape.proxy?.tunnels(to: request) ?? false
    ccurl_set_string(handle, CURLOPT_USERAGENT, tunnels ? configuration.userAgent : nil)
    // Inflated here, and not by libcurl, which takes a compressed body to be complete wherever it ends.
    asksForGzip = shape.inflates
  }

  private func makeHeaders(_ request: DispatchRequest, _ upload: CurlUpload?, tunnels: Bool) {
    curl_slist_free_all(headers)
    curl_slist_free_all(proxyHeaders)
    (headers, proxyHeaders) = (nil, nil)
    addOwnHeaders(request)
    // One field, which HTTPFields holds taken apart: servers read the first one only.
    if let cookies = request.headerFields[.cookie] { append("Cookie: \(cookies)") }
    for field in request.headerFields where !field.name.isTransports && field.name != .cookie && field.name != .expect {
      // A field without a value is said with a semicolon; with a colon libcurl would leave it out.
      let line = field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
      // What is for the proxy would go through its tunnel to the end-point.
      if tunnels, field.name == .proxyAuthorization { append(line, to: &proxyHeaders) } else { append(line) }
    }
    if let upload {
      // libcurl asks by itself where there is no field. One that is given it would repeat after a 417.
      if let expect = upload.expectField { append(expect) }
      // It would call every body a form.
      if !request.headerFields.contains(.contentType) { append("Content-Type:") }
    } else if [.post, .put, .patch].contains(request.method) {
      // RFC 9110 section 8.6: a server may wait for a body that nobody says is not there.
      append("Content-Length: 0")
    }
  }

  // What every request says unless it has a field of its own. libcurl has options for both, but writes their fields twice
  // for each request, a letter at a time: a list is written once, and made once for all requests without fields.
  private func addOwnHeaders(_ request: DispatchRequest) {
    if !request.headerFields.contains(.userAgent) { append("User-Agent: \(configuration.userAgent)") }
    if asksForGzip { append("Accept-Encoding: gzip") }
  }

  private func append(_ line: String) { append(line, to: &headers) }

  private func append(_ line: String, to list: inout UnsafeMutablePointer<curl_slist>?) {
    // Null means that there was no memory, and then the old list is still good.
    if let longer = curl_slist_append(list, line) { list = longer }
  }

  /// What libcurl says of the last failure; may be empty.
  var message: String { String(cString: said) }

  /// What a proxy answered when it was asked for a tunnel; 0 when it was not.
  var proxyStatus: Int { number(CURLINFO_HTTP_CONNECTCODE) }

  /// OpenSSL's number for what was wrong with the server's certificate; 0 for nothing.
  var certificateVerdict: Int { number(CURLINFO_SSL_VERIFYRESULT) }

  /// The address that the connection leads to, in its numeric form; nil before there is one.
  var peer: String? {
    var text: UnsafePointer<CChar>?
    ccurl_get_string(handle, CURLINFO_PRIMARY_IP, &text)
    // libcurl keeps the text until the next exchange of the handle.
    return text.map { String(cString: $0) }
  }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    ccurl_get_long(handle, info, &value)
    return value
  }

  /// How long the parts of the exchange took.
  ///
  /// - Parameter isReused: Its connection was open already. libcurl counts a look-up in its own pool then.
  func times(isReused: Bool) -> ExchangeTimes {
    func time(_ info: CURLINFO) -> Duration {
      var microseconds: curl_off_t = 0
      ccurl_get_offset(handle, info, &microseconds)
      return .microseconds(Int64(microseconds))
    }
    let (firstByte, total) = (time(CURLINFO_STARTTRANSFER_TIME_T), time(CURLINFO_TOTAL_TIME_T))
    if isReused { return ExchangeTimes(firstByte: firstByte, total: total) }
    return ExchangeTimes(
      name: time(CURLINFO_NAMELOOKUP_TIME_T), connect: time(CURLINFO_CONNECT_TIME_T),
      tls: time(CURLINFO_APPCONNECT_TIME_T), firstByte: firstByte, total: total)
  }
}
