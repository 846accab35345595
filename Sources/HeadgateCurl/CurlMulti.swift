import CCurl
import HeadgateDispatch
import HeadgateThreads

/// A libcurl multi handle with its timer. Used only on its loop's thread.
///
/// A loop has one handle for each use, with separate connections.
final class CurlMulti {
  /// How an exchange uses its connection.
  enum Use: Int, CaseIterable {
    /// One exchange at a time.
    case own
    /// Shared by many exchanges, over HTTP/2. libcurl 7.88 remembers for a host, not for a connection, whether
    /// requests may share it, so an HTTP/1.1 connection among those of HTTP/2 would keep all others from sharing.
    case shared
    /// A stream among many. libcurl searches all connections to a host, also those in use, when a request begins: two
    /// thousand streams would make each short request take several times as long.
    case besideMany
  }

  let handle: UnsafeMutableRawPointer
  let use: Use
  var timer = Deadline.distantFuture
  // Unowned: the loop owns this object and exists whenever libcurl runs.
  unowned let loop: CurlLoop

  init?(_ use: Use, _ loop: CurlLoop) {
    guard let handle = curl_multi_init() else { return nil }
    self.handle = handle
    self.use = use
    self.loop = loop
    // Unretained: the loop keeps this object until it has cleaned up the handle.
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    ccurl_multi_set_pointer(handle, CURLMOPT_SOCKETDATA, pointer)
    ccurl_multi_set_pointer(handle, CURLMOPT_TIMERDATA, pointer)
    ccurl_multi_set_socket_function(handle, CurlCallbacks.watchSocket)
    ccurl_multi_set_timer_function(handle, CurlCallbacks.setTimer)
    // The gate decides how many connections are kept, for all loops and transports together.
    ccurl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, Int(Int32.max))
  }

  func setTimer(_ milliseconds: Int) {
    switch milliseconds {
    case ..<0: timer = .distantFuture
    // At once, the most common case, which needs no look at the clock.
    case 0: timer = .distantPast
    default: timer = .now.advanced(byNanoseconds: Int64(min(milliseconds, 1 << 40)) * 1_000_000)
    }
  }

  func cleanUp() { curl_multi_cleanup(handle) }
}
