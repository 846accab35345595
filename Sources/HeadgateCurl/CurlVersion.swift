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
  /// ends the exchange. A new handle for each exchange would be safe too, but costs a fifth of all instructions.
  static let mustSeeLinesFirst = (0x07_53_00..<0x08_01_00).contains(loaded)

  /// Whether libcurl reads shared cookies without their lock. Versions from 8.11 to 8.15 link the cookies that a request
  /// will send into a list under the lock, but read and dissolve the list after they have released it. The links are in
  /// the cookies themselves, so a second thread that does the same, or replaces a cookie, corrupts memory or makes
  /// libcurl loop for ever (curl #16838, #18457). A jar's lock is then held from before the list is made until
  /// libcurl's next callback, or its return: the list is made and used right after the prerequest callback.
  static let readsCookiesUnlocked = (0x08_0B_00..<0x08_10_00).contains(loaded)

  /// Whether libcurl goes on reading while an exchange is paused, and then keeps up to 64 MB before it fails. 8.5, the
  /// version of Ubuntu 24.04, does (curl a0f94800d5). Its sockets are then left out of the poller.
  static let readsWhilePaused = (0x08_05_00..<0x08_06_00).contains(loaded)

  /// Whether libcurl may ask for the next turn at once, for as long as an exchange is paused. 8.6 to 8.8 do, if the
  /// eleventh read of a turn pauses it (curl 8706b68010 to 3841569ec8).
  static let spinsWhilePaused = (0x08_06_00..<0x08_09_00).contains(loaded)

  /// Whether an upload fails that stops before its declared length. Up to 8.6 libcurl then waits for the response.
  static let failsShortUploads = loaded >= 0x08_07_00

  /// Whether libcurl closes one idle connection for each exchange that meets a limit, and not as many as are too many.
  /// 8.10 and later close all of these.
  static let closesOneForLimit = loaded < 0x08_0A_00

  /// Whether libcurl joins the lines of a folded field itself.
  static let unfoldsLines = loaded >= 0x08_12_00

  /// Throws if a version can't keep the transport's promises.
  static func check(_ version: Int = loaded) throws(DispatchError) {
    let name = "libcurl \(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
    guard version >= oldest else {
      throw DispatchError(.transportFailed, detail: "\(name) is too old: libcurl 7.80 or later is needed")
    }
    // Any response that pauses twice may fail (curl 7e91f24c73).
    guard version != 0x08_10_00 else {
      throw DispatchError(
        .transportFailed, detail: "\(name) loses data of responses that pause: use another version")
    }
  }
}
