import CCurl
import HeadgateDispatch

/// What the loaded libcurl can be trusted with. Its version may differ from that of the headers.
enum CurlVersion {
  static let loaded = ccurl_loaded_version()

  /// The oldest version that asks before it sends a request (CURLOPT_PREREQFUNCTION). Older ones would send requests again by
  /// themselves.
  static let oldest = 0x07_50_00

  /// Whether a handle may serve several exchanges in turn. From 7.83 to 8.0, on a handle that was used before, a head whose
  /// first field begins with a space is written into memory that was freed: a server can corrupt the heap (curl #11101).
  /// With those versions a handle is used once.
  static let canReuseHandles = !(0x07_53_00..<0x08_01_00).contains(loaded)

  static func check() throws(DispatchError) {
    guard loaded >= oldest else {
      throw DispatchError(
        .transportFailed, detail: "\(CurlTransport.libraryVersion) is too old: libcurl 7.80 or later is needed")
    }
  }
}
