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
/// The callbacks find their exchange through the handle's private pointer, which is set for the time of the exchange.
final class CurlEasy {
  let handle: UnsafeMutableRawPointer
  private let configuration: CurlTransport.Configuration
  private var headers: UnsafeMutablePointer<curl_slist>?
  // The handle is set up for a GET without fields of its own: the next one of the kind needs its URL only.
  private var isPlain = false
  private var connectTimeout: Duration?
  private var inflates = false
  private var isIPv4Only = false

  init?(_ configuration: CurlTransport.Configuration) {
    guard let handle = curl_easy_init() else { return nil }
    self.handle = handle
    self.configuration = configuration
  }

  deinit {
    curl_slist_free_all(headers)
    curl_easy_cleanup(handle)
  }

  func prepare(_ transfer: CurlTransfer) {
    let request = transfer.exchange.request
    let wantsPlain = request.method == .get && request.headerFields.isEmpty && transfer.upload == nil
    let inflates = !transfer.exchange.mayPause
    if !(isPlain && wantsPlain && self.inflates == inflates && connectTimeout == request.connectTimeout) {
      curl_easy_reset(handle)
      isIPv4Only = false
      setCommonOptions()
      set(request, transfer.upload, inflates: inflates)
      isPlain = wantsPlain
      self.inflates = inflates
      connectTimeout = request.connectTimeout
    }
    if isIPv4Only || transfer.dialling == .ipv4 { dial(transfer.dialling, within: request.connectTimeout) }
    ccurl_set_string(handle, CURLOPT_URL, request.url)
    // Each pointer is good for the time of the exchange: the loop keeps the transfer until the handle is taken back,
    // and the sockets while one of them is open or an exchange uses them.
    let pointer = Unmanaged.passUnretained(transfer).toOpaque()
    for option in [
      CURLOPT_PRIVATE, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_PREREQDATA, CURLOPT_SSL_CTX_DATA,
      CURLOPT_READDATA, CURLOPT_SEEKDATA,
    ] {
      ccurl_set_pointer(handle, option, pointer)
    }
    ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, pointer)
    if let sockets = transfer.sockets {
      ccurl_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
    }
  }

  private func setCommonOptions() {
    ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    ccurl_set_quick_exit(handle)
    ccurl_set_protocols(handle)
    ccurl_set_long(handle, CURLOPT_HTTP_VERSION, CCURL_HTTP_VERSION_1_1)
    ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0)
    ccurl_set_string(handle, CURLOPT_PROXY, "")
    ccurl_set_long(handle, CURLOPT_TCP_KEEPALIVE, 1)
    // One address after another: a second attempt beside the first would be a second socket.
    ccurl_set_long(handle, CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, 3_600_000)
    ccurl_set_string(handle, CURLOPT_USERAGENT, configuration.userAgent)
    switch configuration.trust.value {
    case .system: break
    case .authority(let file):
      ccurl_set_string(handle, CURLOPT_CAINFO, file)
      ccurl_set_string(handle, CURLOPT_CAPATH, nil)
    case .nobody:
      ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 0)
      ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 0)
    }
    ccurl_set_data_function(handle, CURLOPT_WRITEFUNCTION, CurlCallbacks.write)
    ccurl_set_data_function(handle, CURLOPT_HEADERFUNCTION, CurlCallbacks.header)
    ccurl_set_open_function(handle, CurlCallbacks.openSocket)
    ccurl_set_close_function(handle, CurlCallbacks.closeSocket)
    ccurl_set_prerequest_function(handle, CurlCallbacks.prerequest)
    // Only OpenSSL and its like call it; without it a phase is named a little less exactly.
    ccurl_set_tls_function(handle, CurlCallbacks.tls)
  }

  /// Says which addresses of a name are to be tried, and how long.
  func dial(_ dialling: CurlTransfer.Dialling, within limit: Duration?) {
    isIPv4Only = dialling == .ipv4
    ccurl_set_long(handle, CURLOPT_IPRESOLVE, Int(isIPv4Only ? CURL_IPRESOLVE_V4 : CURL_IPRESOLVE_WHATEVER))
    setConnectTimeout(limit)
    // The next exchange has a limit of its own.
    isPlain = false
  }

  private func setConnectTimeout(_ limit: Duration?) {
    // Zero would mean libcurl's own 300 s; none is as long as it can say.
    let milliseconds = limit.map { Int(min(max(1, $0.wholeNanoseconds / 1_000_000), Int64(Int32.max))) }
    ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds ?? Int(Int32.max))
  }

  private func set(_ request: DispatchRequest, _ upload: CurlUpload?, inflates: Bool) {
    setConnectTimeout(request.connectTimeout)
    if request.method == .head {
      ccurl_set_long(handle, CURLOPT_NOBODY, 1)
    } else if let upload {
      set(upload, request.method)
    } else if request.method != .get {
      ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    }
    let acceptsEncoding = request.headerFields.contains(.acceptEncoding)
    // A large buffer means few reads for streams and files. libcurl allocates it for each exchange, so a short response
    // is better off with its default of 16 KB.
    if !inflates { ccurl_set_long(handle, CURLOPT_BUFFERSIZE, 256 * 1024) }
    if inflates, !acceptsEncoding { ccurl_set_string(handle, CURLOPT_ACCEPT_ENCODING, Self.encodings) }
    setHeaders(request, upload)
  }

  /// Takes the question back that the server did not understand.
  func askNoMore(_ transfer: CurlTransfer) { setHeaders(transfer.exchange.request, transfer.upload) }

  private func setHeaders(_ request: DispatchRequest, _ upload: CurlUpload?) {
    curl_slist_free_all(headers)
    headers = nil
    for field in request.headerFields where !field.name.isTransports && field.name != .expect {
      // A field without a value is said with a semicolon; with a colon libcurl would leave it out.
      append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
    }
    if let upload {
      // libcurl asks by itself where there is no field. One that is given it would repeat after a 417.
      if let expect = upload.expectField { append(expect) }
      // It would call every body a form.
      if !request.headerFields.contains(.contentType) { append("Content-Type:") }
    }
    ccurl_set_list(handle, CURLOPT_HTTPHEADER, headers)
  }

  // What servers speak, as far as this libcurl can read it. Its own list of all that it knows would name four, and it
  // writes each letter of the field twice for every request.
  private static let encodings: String? =
    ccurl_reads_gzip() == 0 ? nil : ccurl_reads_brotli() == 0 ? "gzip" : "gzip, br"

  private func append(_ line: String) {
    // Null means that there was no memory, and then the old list is still good.
    if let longer = curl_slist_append(headers, line) { headers = longer }
  }

  /// The seconds that the parts of the exchange took.
  var times: ExchangeTimes {
    func seconds(_ info: CURLINFO) -> Double {
      var microseconds: curl_off_t = 0
      ccurl_get_offset(handle, info, &microseconds)
      return Double(microseconds) / 1e6
    }
    return ExchangeTimes(
      name: seconds(CURLINFO_NAMELOOKUP_TIME_T), connect: seconds(CURLINFO_CONNECT_TIME_T),
      tls: seconds(CURLINFO_APPCONNECT_TIME_T), firstByte: seconds(CURLINFO_STARTTRANSFER_TIME_T),
      total: seconds(CURLINFO_TOTAL_TIME_T))
  }
}
