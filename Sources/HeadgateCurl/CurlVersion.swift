import CCurl
import HeadgateDispatch

/// Properties of the loaded libcurl. Its version may differ from that of the headers.
enum CurlVersion {
  static let loaded = Int(ccurl_version_info().pointee.version_num)

  /// The first version with CURLOPT_PREREQFUNCTION. Older ones would resend requests without asking.
  static let oldest = 0x07_50_00

  /// Whether libcurl must not receive a head whose first field begins with a space. On a reused handle, versions from
  /// 7.83 to 8.0 append such a line to a field in freed memory, so that a server can corrupt the heap (curl #11101).
  /// With CURLOPT_HEADER these versions pass each line to the write callback before they store it, and the callback
  /// ends the exchange. A new handle for each exchange would be safe too, but costs a fifth of all instructions
  /// (25,000 of 125,000).
  static let mustSeeLinesFirst = (0x07_53_00..<0x08_01_00).contains(loaded)

  /// Whether libcurl reads shared cookies without their lock. Versions from 8.11 to 8.15 link the cookies that a request
  /// will send into a list under the lock, but read and dissolve the list after they have released it. The links are in
  /// the cookies themselves, so a second thread that does the same, or replaces a cookie, corrupts memory or makes
  /// libcurl loop for ever (curl #16838, #18457). A jar's lock is then held from before the list is made until
  /// libcurl's next callback, or its return: the list is made and used right after the prerequest callback.
  static let readsCookiesUnlocked = (0x08_0B_00..<0x08_10_00).contains(loaded)

  static func check() throws(DispatchError) {
    guard loaded >= oldest else {
      throw DispatchError(
        .transportFailed, detail: "\(CurlTransport.libraryVersion) is too old: libcurl 7.80 or later is needed")
    }
  }
}
