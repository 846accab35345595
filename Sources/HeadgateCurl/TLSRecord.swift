import CCurl
import HeadgateLibC

/// What OpenSSL reports about one TLS connection, beyond libcurl's result: alerts, and why a handshake failed. Only if
/// libcurl uses OpenSSL as a library of its own, which is so on most Linux systems. Used only on the loop's thread.
///
/// Rejected: libcurl's messages, whose words change with OpenSSL and with the TLS library.
final class TLSRecord {
  /// The last alert that arrived or was sent, by its number in RFC 8446 section 6; nil if there was none.
  private(set) var received: UInt8?
  private(set) var sent: UInt8?
  /// Whether the server has closed its side with an alert, as RFC 8446 section 6.1 requires.
  private(set) var isClosed = false
  /// OpenSSL's reason for the failed handshake (SSL_R_*); 0 before a failure.
  private(set) var reason: UInt = 0

  /// The server has sent something that is not TLS.
  var metNoTLS: Bool {
    // SSL_R_HTTPS_PROXY_REQUEST, SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_WRONG_VERSION_NUMBER
    received == nil && [155, 156, 198, 267].contains(reason)
  }

  /// Both sides have no version in common.
  var hasNoVersion: Bool {
    // protocol_version; SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_UNSUPPORTED_PROTOCOL
    received == 70 || sent == 70 || [191, 258].contains(reason)
  }

  /// The server has refused the client's certificate, or wants one.
  var refusesClient: Bool {
    // handshake_failure, bad_certificate, unknown_ca, certificate_required
    received.map { [40, 42, 48, 116].contains($0) } ?? false
  }

  /// Watches the connections of a context: libcurl makes one for each connection. Nil if that is not possible.
  static func of(_ context: UnsafeMutableRawPointer) -> TLSRecord? {
    guard let openSSL = OpenSSL.loaded else { return nil }
    let record = TLSRecord()
    // Retained by the context, until OpenSSL frees it.
    let pointer = Unmanaged.passRetained(record).toOpaque()
    guard openSSL.setData(context, openSSL.index, pointer) == 1 else {
      Unmanaged<TLSRecord>.fromOpaque(pointer).release()
      return nil
    }
    openSSL.setInfo(context, OpenSSL.info)
    return record
  }

  fileprivate func note(_ what: Int32, _ value: Int32, _ error: @autoclosure () -> UInt) {
    switch what {
    case 0x4004:  // SSL_CB_READ_ALERT
      if value & 0xFF == 0 { isClosed = true } else { received = UInt8(truncatingIfNeeded: value) }
    case 0x4008:  // SSL_CB_WRITE_ALERT
      if value & 0xFF != 0 { sent = UInt8(truncatingIfNeeded: value) }
    case 0x1002 where value <= 0:  // SSL_CB_CONNECT_EXIT
      reason = error() & 0xFFF
    default: break
    }
  }
}

/// The functions of OpenSSL that are needed here, from the library that libcurl has loaded. Their types are those of
/// OpenSSL's headers, the same in 1.1 and 3.
private struct OpenSSL: Sendable {
  typealias Object = UnsafeMutableRawPointer
  typealias Info = @convention(c) (Object?, Int32, Int32) -> Void
  typealias SetInfo = @convention(c) (Object, Info) -> Void
  typealias SetData = @convention(c) (Object, Int32, Object?) -> Int32
  typealias Data = @convention(c) (Object?, Int32) -> Object?
  typealias Context = @convention(c) (Object?) -> Object?
  typealias FirstError = @convention(c) () -> UInt
  typealias Free = @convention(c) (Object?, Object?, Object?, Int32, Int, Object?) -> Void
  typealias NewIndex = @convention(c) (Int32, Int, Object?, Object?, Object?, Free) -> Int32

  let setInfo: SetInfo
  let setData: SetData
  let data: Data
  let context: Context
  let firstError: FirstError
  /// Where a context has its record.
  let index: Int32

  static let loaded = OpenSSL()

  private init?() {
    // Symbols of another TLS library in the process may have the same names.
    let version = ccurl_version_info().pointee.ssl_version.map { String(cString: $0) } ?? ""
    guard version.hasPrefix("OpenSSL/"),
      let library = dlopen(version.hasPrefix("OpenSSL/1") ? "libssl.so.1.1" : "libssl.so.3", RTLD_LAZY | RTLD_NOLOAD)
    else { return nil }
    // Also finds what is in libcrypto.
    func find<Function>(_ name: String, _: Function.Type) -> Function? {
      dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
    }
    guard let setInfo = find("SSL_CTX_set_info_callback", SetInfo.self),
      let setData = find("SSL_CTX_set_ex_data", SetData.self), let data = find("SSL_CTX_get_ex_data", Data.self),
      let context = find("SSL_get_SSL_CTX", Context.self), let firstError = find("ERR_peek_error", FirstError.self),
      let newIndex = find("CRYPTO_get_ex_new_index", NewIndex.self)
    else { return nil }
    (self.setInfo, self.setData, self.data) = (setInfo, setData, data)
    (self.context, self.firstError) = (context, firstError)
    // CRYPTO_EX_INDEX_SSL_CTX is 1.
    index = newIndex(1, 0, nil, nil, nil) { _, pointer, _, _, _, _ in
      if let pointer { Unmanaged<TLSRecord>.fromOpaque(pointer).release() }
    }
    if index < 0 { return nil }
  }

  static let info: Info = { connection, what, value in
    guard let openSSL = loaded, let pointer = openSSL.data(openSSL.context(connection), openSSL.index) else { return }
    Unmanaged<TLSRecord>.fromOpaque(pointer).takeUnretainedValue().note(what, value, openSSL.firstError())
  }
}
