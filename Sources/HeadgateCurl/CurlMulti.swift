import CCurl
import HeadgateDispatch
import HeadgateThreads

/// One of libcurl's multi handles with its timer. Touched by its loop's thread only.
///
/// A loop has two: libcurl remembers for a host, and not for a connection, whether requests may share one (7.88), and an
/// HTTP/1.1 connection beside those of HTTP/2 would keep all others from sharing.
final class CurlMulti {
  let handle: UnsafeMutableRawPointer
  /// Whether its connections may be of HTTP/2.
  let isShared: Bool
  var timer = Deadline.distantFuture
  // Unowned: the loop owns this object, and is alive whenever libcurl runs.
  unowned let loop: CurlLoop

  init?(isShared: Bool, _ loop: CurlLoop) {
    guard let handle = curl_multi_init() else { return nil }
    self.handle = handle
    self.isShared = isShared
    self.loop = loop
    // The loop keeps this object until it has cleaned the handle up.
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    ccurl_multi_set_pointer(handle, CURLMOPT_SOCKETDATA, pointer)
    ccurl_multi_set_pointer(handle, CURLMOPT_TIMERDATA, pointer)
    ccurl_multi_set_socket_function(handle, CurlCallbacks.watchSocket)
    ccurl_multi_set_timer_function(handle, CurlCallbacks.setTimer)
    // Idle connections are worth keeping as long as there are descriptors: the default grows with what runs.
    ccurl_multi_set_long(handle, CURLMOPT_MAXCONNECTS, GateLimits.defaultTotal)
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
