import CCurl
import HeadgateDispatch
import HeadgateThreads

/// One of libcurl's multi handles with its timer. Touched by its loop's thread only.
///
/// A loop has one for each use: each has connections of its own.
final class CurlMulti {
  /// What an exchange's connection is used for.
  enum Use: Int, CaseIterable {
    /// By one exchange at a time.
    case own
    /// By many, over HTTP/2. libcurl remembers for a host, and not for a connection, whether requests may share one
    /// (7.88), and an HTTP/1.1 connection beside those of HTTP/2 would keep all others from sharing.
    case shared
    /// By a stream that stands beside many. libcurl looks through all connections to a host, used ones included, whenever a
    /// request begins: two thousand streams would make every short one take two and a half times as long.
    case besideMany
  }

  let handle: UnsafeMutableRawPointer
  let use: Use
  var timer = Deadline.distantFuture
  // Unowned: the loop owns this object, and is alive whenever libcurl runs.
  unowned let loop: CurlLoop

  init?(_ use: Use, _ loop: CurlLoop) {
    guard let handle = curl_multi_init() else { return nil }
    self.handle = handle
    self.use = use
    self.loop = loop
    // The loop keeps this object until it has cleaned the handle up.
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    ccurl_multi_set_pointer(handle, CURLMOPT_SOCKETDATA, pointer)
    ccurl_multi_set_pointer(handle, CURLMOPT_TIMERDATA, pointer)
    ccurl_multi_set_socket_function(handle, CurlCallbacks.watchSocket)
    ccurl_multi_set_timer_function(handle, CurlCallbacks.setTimer)
    // How many connections are kept is the gate's affair, for all loops and transports together.
    ccurl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, Int(Int32.max))
  }

  func setTimer(_ milliseconds: Int) {
    switch milliseconds {
    case ..<0: timer = .distantFuture
    // At once, which is nearly always what is asked: the clock need not be read for that.
    case 0: timer = .distantPast
    default: timer = .now.advanced(byNanoseconds: Int64(min(milliseconds, 1 << 40)) * 1_000_000)
    }
  }

  func cleanUp() { curl_multi_cleanup(handle) }
}
