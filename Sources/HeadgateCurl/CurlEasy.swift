import CCurl
import HTTPTypes
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// A libcurl easy handle, used for one exchange after another on the loop's thread.
///
/// The callbacks get this object and find the current exchange in it, so that the pointer is set once and not for
/// each exchange.
final class CurlEasy {
  let handle: UnsafeMutableRawPointer
  // Allocated in init, and freed in deinit after the handle.
  private let incoming = UnsafeMutablePointer<Incoming>.allocate(capacity: 1)
  private var url: CurlURL
  private let configuration: CurlTransport.Configuration
  private var headers: UnsafeMutablePointer<curl_slist>?
  private var proxyHeaders: UnsafeMutablePointer<curl_slist>?
  // The handle is set up for a GET without header fields: the next such request only sets its URL.
  private var plainShape: Shape?
  private var isIPv4Only = false
  // The addresses of the host, as libcurl takes them; valid while the handle has them.
  private var resolved: UnsafeMutablePointer<curl_slist>?
  // Whether the current request accepts a compressed body.
  private var asksForGzip = false
  // libcurl's error buffer. Freed in deinit, after the handle.
  private let said = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// The settings of a handle other than the request's method, fields and body.
  private struct Shape: Equatable {
    let connectTimeout: Duration?
    var mayPause = false
    var inflates = false
    let shares: Bool
    let proxy: CurlProxy?
    /// The path of a Unix-domain socket, if any.
    let socket: String?

    init(_ request: DispatchRequest, proxy: CurlProxy?, shares: Bool) {
      (connectTimeout, self.proxy, self.shares) = (request.connectTimeout, proxy, shares)
      socket = request.endPoint.isUnixSocket ? request.endPoint.host : nil
    }

    init(_ transfer: CurlTransfer, _ request: DispatchRequest) {
      self.init(request, proxy: transfer.proxy, shares: transfer.offersHTTP2)
      mayPause = transfer.exchange.mayPause
      inflates = transfer.asksForGzip
    }
  }

  init?(_ configuration: CurlTransport.Configuration) {
    guard let url = CurlURL(), let handle = curl_easy_init() else {
      incoming.deallocate()
      said.deallocate()
      return nil
    }
    self.url = url
    self.handle = handle
    self.configuration = configuration
    incoming.initialize(to: Incoming(atMost: configuration.maxHeadBytes))
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(headers)
    curl_slist_free_all(proxyHeaders)
    curl_slist_free_all(resolved)
    said.deallocate()
    incoming.deinitialize(count: 1)
    incoming.deallocate()
  }

  /// The current exchange.
  var transfer: Unmanaged<CurlTransfer>? { incoming.pointee.transfer }

  /// What has arrived of its head.
  var head: HeadLines { _read { yield incoming.pointee.head } }

  func prepare(_ transfer: CurlTransfer) {
    let request = transfer.exchange.request
    let wantsPlain = request.method == .get && request.headerFields.isEmpty && transfer.upload == nil
    let shape = Shape(transfer, request)
    if !wantsPlain || plainShape != shape {
      curl_easy_reset(handle)
      isIPv4Only = false
      setCommonOptions()
      set(shape)
      set(request, transfer.upload, shape)
      makeHeaders(request, transfer.upload, tunnels: shape.proxy?.tunnels(to: request) ?? false)
      ccurl_set_list(handle, CURLOPT_PROXYHEADER, proxyHeaders)
      ccurl_set_list(handle, CURLOPT_HTTPHEADER, headers)
      plainShape = wantsPlain ? shape : nil
    }
    said[0] = 0
    incoming.pointee.head.removeAll()
    incoming.pointee.hearsLines = transfer.hearsLines
    if isIPv4Only || transfer.dialling != .any || transfer.nameTime > .zero {
      dial(transfer.dialling, within: transfer.timeToConnect)
    }
    set(transfer.dialled, of: request.endPoint)
    if transfer.needsNewConnection {
      ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
      plainShape = nil
    }
    setURL(of: request)
    incoming.pointee.transfer = Unmanaged.passUnretained(transfer)
    // Valid for the lifetime of the exchange and its connection: the loop keeps the sockets object while a socket is
    // open or an exchange uses it.
    if let sockets = transfer.sockets {
      ccurl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
    }
  }

  private func setURL(of request: DispatchRequest) {
    let text = request.wireURL
    if url.set(text) {
      ccurl_set_url(handle, url.handle)
    } else {
      // libcurl then reports what is wrong with the URL.
      ccurl_set_url(handle, nil)
      ccurl_set_string(handle, CURLOPT_URL, text)
    }
  }

  /// Sets the handle up for a request without an exchange.
  func prepareAlone(for request: DispatchRequest, proxy: CurlProxy?, shares: Bool) {
    curl_easy_reset(handle)
    plainShape = nil
    setCommonOptions()
    set(Shape(request, proxy: proxy, shares: shares))
    setURL(of: request)
  }

  /// Called when the exchange is over.
  ///
  /// - Parameter mustReset: Something of the exchange would remain. Before 8.17 libcurl counts the tries of all
  ///   exchanges of a handle; with 8.18 a handle that is taken back while it is paused stays paused (curl 078b3031ea).
  func forgetTransfer(mustReset: Bool) {
    incoming.pointee.transfer = nil
    if mustReset { plainShape = nil }
  }

  private func setCommonOptions() {
    // libcurl uses the pointer only while the handle is active, and then the loop keeps this object.
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    for option in [
      CURLOPT_PRIVATE, CURLOPT_PREREQDATA, CURLOPT_SSL_CTX_DATA, CURLOPT_READDATA, CURLOPT_SEEKDATA,
      CURLOPT_OPENSOCKETDATA,
    ] {
      ccurl_set_pointer(handle, option, pointer)
    }
    for option in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA] { ccurl_set_pointer(handle, option, incoming) }
    ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    ccurl_set_quick_exit(handle)
    ccurl_set_protocols(handle)
    ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, said)
    ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0)
    ccurl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1)
    let continueTimeout = configuration.continueTimeout.wholeNanoseconds / 1_000_000
    ccurl_set_long(handle, CURLOPT_EXPECT_100_TIMEOUT_MS, Int(continueTimeout))
    // Addresses are tried one after another: a parallel attempt would need a second socket.
    ccurl_set_long(handle, CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, 3_600_000)
    setTLSOptions()
    ccurl_set_data_function(handle, CURLOPT_WRITEFUNCTION, Incoming.write)
    ccurl_set_data_function(handle, CURLOPT_HEADERFUNCTION, Incoming.header)
    // This does not include trailers.
    if CurlVersion.mustSeeLinesFirst { ccurl_set_long(handle, CURLOPT_HEADER, 1) }
    ccurl_set_open_function(handle, CurlCallbacks.openSocket)
    ccurl_set_close_function(handle, CurlCallbacks.closeSocket)
    ccurl_set_prerequest_function(handle, CurlCallbacks.prerequest)
    // Called only with OpenSSL and its derivatives. With other libraries the phase `securing` is reported as
    // `connecting`.
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
    case .any:
      ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 0)
      ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 0)
    }
    ccurl_set_long(handle, CURLOPT_SSLVERSION, configuration.minimumTLS.number)
    guard let certificate = configuration.clientCertificate else { return }
    ccurl_set_string(handle, CURLOPT_SSLCERT, certificate.file)
    ccurl_set_string(handle, CURLOPT_SSLKEY, certificate.keyFile)
    // An empty password: without one, OpenSSL would prompt on the terminal.
    ccurl_set_string(handle, CURLOPT_KEYPASSWD, certificate.password ?? "")
  }

  private func set(_ shape: Shape) {
    ccurl_set_long(handle, CURLOPT_HTTP_VERSION, shape.shares ? CCURL_HTTP_VERSION_2TLS : CCURL_HTTP_VERSION_1_1)
    // An empty list of exceptions: without one, libcurl would read the environment.
    ccurl_set_string(handle, CURLOPT_NOPROXY, "")
    if let proxy = shape.proxy {
      ccurl_set_string(handle, CURLOPT_PROXY, "\(proxy.scheme)://\(proxy.endPoint)")
      if !proxy.user.isEmpty { ccurl_set_string(handle, CURLOPT_PROXYUSERNAME, proxy.user) }
      if !proxy.password.isEmpty { ccurl_set_string(handle, CURLOPT_PROXYPASSWORD, proxy.password) }
      // The proxy's response to CONNECT is not the response, and the end-point's header fields are not for the proxy.
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

  /// Sets which addresses of a name are tried, and for how long.
  private func dial(_ dialling: CurlTransfer.Dialling, within limit: Duration?) {
    isIPv4Only = dialling == .ipv4
    ccurl_set_long(handle, CURLOPT_IPRESOLVE, Int(isIPv4Only ? CURL_IPRESOLVE_V4 : CURL_IPRESOLVE_WHATEVER))
    setConnectTimeout(limit)
    // The next exchange has its own limit.
    plainShape = nil
  }

  /// Passes the addresses of a host to libcurl, which keeps them for a minute, like addresses that it looks up itself.
  private func set(_ addresses: [String], of endPoint: EndPoint) {
    guard resolved != nil || !addresses.isEmpty else { return }
    var list: UnsafeMutablePointer<curl_slist>?
    if !addresses.isEmpty {
      let texts = addresses.map { $0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]" : $0 }
      append("+\(endPoint.host):\(endPoint.port):\(texts.joined(separator: ","))", to: &list)
    }
    ccurl_set_list(handle, CURLOPT_RESOLVE, list)
    curl_slist_free_all(resolved)
    resolved = list
  }

  private func setConnectTimeout(_ limit: Duration?) {
    // Zero would mean libcurl's default of 300 s. No limit is expressed by the maximum value.
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
    // A large buffer saves reads for streams and files. libcurl allocates it for each exchange, so for short
    // responses the default of 16 KB is better.
    if shape.mayPause { ccurl_set_long(handle, CURLOPT_BUFFERSIZE, 256 * 1024) }
    // Only this option sets the user agent of the CONNECT request.
    let tunnels = shape.proxy?.tunnels(to: request) ?? false
    ccurl_set_string(handle, CURLOPT_USERAGENT, tunnels ? configuration.userAgent : nil)
    // Decompressed here rather than by libcurl, which treats a truncated compressed body as complete.
    asksForGzip = shape.inflates
  }

  private func makeHeaders(_ request: DispatchRequest, _ upload: CurlUpload?, tunnels: Bool) {
    curl_slist_free_all(headers)
    curl_slist_free_all(proxyHeaders)
    (headers, proxyHeaders) = (nil, nil)
    addOwnHeaders(request)
    // HTTPFields stores cookies separately, but many servers read only the first Cookie field.
    if let cookies = request.headerFields[.cookie] { append("Cookie: \(cookies)") }
    for field in request.headerFields where !field.name.isTransports && field.name != .cookie && field.name != .expect {
      // libcurl sends a field with an empty value if the line ends in a semicolon; after a colon it would drop the
      // field.
      let line = field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
      // Otherwise the field would be sent through the tunnel to the end-point.
      if tunnels, field.name == .proxyAuthorization { append(line, to: &proxyHeaders) } else { append(line) }
    }
    if let upload {
      // Without the field libcurl decides by itself. If the field is set, libcurl would repeat it after a 417.
      if let expect = upload.expectField { append(expect) }
      // libcurl would declare every body as a form.
      if !request.headerFields.contains(.contentType) { append("Content-Type:") }
    } else if [.post, .put, .patch].contains(request.method) {
      // RFC 9110 section 8.6: without a length, a server may wait for a body.
      append("Content-Length: 0")
    }
  }

  // Default fields. libcurl has options for both, but formats their fields twice for each request, one character at a
  // time. A list is formatted once for all requests without fields.
  private func addOwnHeaders(_ request: DispatchRequest) {
    if !request.headerFields.contains(.userAgent) { append("User-Agent: \(configuration.userAgent)") }
    if asksForGzip { append("Accept-Encoding: gzip") }
  }

  private func append(_ line: String) { append(line, to: &headers) }

  private func append(_ line: String, to list: inout UnsafeMutablePointer<curl_slist>?) {
    // Null means that memory is exhausted; the old list is still valid.
    if let longer = curl_slist_append(list, line) { list = longer }
  }

  /// libcurl's message about the last error; may be empty.
  var message: String { String(cString: said) }

  /// The proxy's status in response to CONNECT; 0 if there was no tunnel request.
  var proxyStatus: Int { number(CURLINFO_HTTP_CONNECTCODE) }

  /// OpenSSL's verification result for the server's certificate; 0 for success.
  var certificateVerdict: Int { number(CURLINFO_SSL_VERIFYRESULT) }

  /// The system's words for the last failure to connect, such as `Connection refused`. Nil if there was none.
  var systemError: String? {
    let code = number(CURLINFO_OS_ERRNO)
    return code == 0 ? nil : Int32(exactly: code).flatMap { strerror($0) }.map { String(cString: $0) }
  }

  var hasClientCertificate: Bool { configuration.clientCertificate != nil }

  /// The address of the connection's peer in numeric form; nil before it is connected.
  var peer: String? {
    var text: UnsafePointer<CChar>?
    ccurl_get_string(handle, CURLINFO_PRIMARY_IP, &text)
    // libcurl keeps the text until the handle's next exchange.
    return text.map { String(cString: $0) }
  }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    ccurl_get_long(handle, info, &value)
    return value
  }

  /// The times of the exchange's phases.
  ///
  /// - Parameters:
  ///   - isReused: Whether the connection was reused. If so, libcurl reports the time that it took to find it in its
  ///     pool.
  ///   - named: How long the name look-up took, before the exchange was passed to libcurl.
  func times(isReused: Bool, named: Duration) -> ExchangeTimes {
    func time(_ info: CURLINFO) -> Duration {
      var microseconds: curl_off_t = 0
      ccurl_get_offset(handle, info, &microseconds)
      return .microseconds(Int64(microseconds)) + (microseconds > 0 ? named : .zero)
    }
    let (firstByte, total) = (time(CURLINFO_STARTTRANSFER_TIME_T), time(CURLINFO_TOTAL_TIME_T))
    if isReused { return ExchangeTimes(firstByte: firstByte, total: total) }
    return ExchangeTimes(
      name: max(named, time(CURLINFO_NAMELOOKUP_TIME_T)), connect: time(CURLINFO_CONNECT_TIME_T),
      tls: time(CURLINFO_APPCONNECT_TIME_T), firstByte: firstByte, total: total)
  }
}
