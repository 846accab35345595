import CCurl
import HeadgateDispatch

/// What the libcurl that is loaded can be trusted with. It may be another than the one of the headers.
enum CurlVersion {
  static let loaded = ccurl_loaded_version()

  /// The oldest one that tells before it sends a request (CURLOPT_PREREQFUNCTION): without that it would send requests
  /// again by itself.
  static let oldest = 0x07_50_00

  /// Whether a handle may serve one exchange after another. From 7.83 to 8.0 a head whose first field begins with a space
  /// is written into memory of the head before it, which was freed: the server can corrupt the heap (curl #11101). There a
  /// handle is used once.
  static let canReuseHandles = !(0x07_53_00..<0x08_01_00).contains(loaded)

  static func check() throws(DispatchError) {
    guard loaded >= oldest else {
      throw DispatchError(
        .transportFailed, detail: "\(CurlTransport.libraryVersion) is too old: libcurl 7.80 or later is needed")
    }
  }
}
