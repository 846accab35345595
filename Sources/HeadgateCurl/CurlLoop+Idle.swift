import CCurl
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

// Closing idle connections. libcurl has no call for that, but limits of its own: at MAX_HOST_CONNECTIONS it closes the
// connection to a host that has been idle for the longest time, to make room for another one. So an exchange that needs
// a new connection to that host is passed to libcurl, with such a limit, and is refused its socket.
//
// Rejected: to shut the socket down and to wait until libcurl notices, which it does when it next uses the host, or once
// in a second at most. Until then the descriptor is open, though the gate does not count it.

extension CurlLoop {
  /// Closes an idle connection to make room under a limit that prevents a new socket. Returns false if no connection
  /// is idle, or if it could not be closed.
  func closeIdle(for bound: SocketLedger.Bound, _ route: SocketRoute) -> Bool {
    let oldest =
      switch bound {
      case .total: idle.first
      case .end(let end): oldestIdle(at: end, route)
      }
    guard let oldest, !oldest.isGone else { return sweep() }
    return closeIdle(oldest)
  }

  // O(sockets of the end-point), of those to the proxy, or of both. (If it is also behind another proxy, the gate finds
  // that one's connections: it asks for a review.)
  private func oldestIdle(at end: SocketRoute.End, _ route: SocketRoute) -> CurlSocket? {
    var oldest: CurlSocket?
    for place in [sockets[end.endPoint], sockets[route.peer]] {
      for socket in place?.open.values.filter({ $0.users == 0 && $0.route.ends.contains(end) }) ?? []
      where socket.idleLinks.number < oldest?.idleLinks.number ?? .max { oldest = socket }
    }
    return oldest
  }

  /// Forgets all sockets that libcurl has closed without notice. Returns whether there were any.
  private func sweep() -> Bool { places.reduce(false) { $1.sweep() || $0 } }

  /// Closes an idle connection, or another one to the same host. Not inside libcurl. Returns false if it is still open.
  @discardableResult
  func closeIdle(_ socket: CurlSocket) -> Bool {
    guard !isInsideCurl, let easy = closer ?? CurlEasy(configuration) else { return false }
    (closer, hasActed) = (easy, true)
    let (place, multi) = (socket.place, multis[socket.use.rawValue])
    // Exchanges that were just passed on would meet the limit too, and libcurl would keep them waiting.
    action(CURL_SOCKET_TIMEOUT, 0, on: multi)
    guard socket.isOpen, socket.users == 0 else { return true }
    let before = place.open.count
    easy.prepareToClose(socket)
    for limit in CurlVersion.closesOneForLimit ? [1] : limits(around: socket) where place.open.count == before {
      meet(limit, on: multi, easy)
    }
    if place.open.count < before { return true }
    if place.sweep() { return true }
    // libcurl closes it when it next looks, which it does once in a second at most. (A Unix-domain socket may be in use:
    // see `dropIdle`.)
    if socket.isOpen, !place.endPoint.isUnixSocket { shutdown(socket.descriptor, Int32(SHUT_RDWR)) }
    _ = TimerThread.deadlines.schedule(at: .now + .milliseconds(1100)) { [weak self] in self?.checkIdleConnections() }
    return false
  }

  // Versions that close as many connections as are too many must not close others. Some of those that are counted here may
  // be gone, which the last limit is for. A connection that waits for the server's closing alert is closed at the second
  // try.
  private func limits(around socket: CurlSocket) -> [Int] {
    let count = socket.place.open.values.count { $0.use == socket.use && $0.route == socket.route }
    return [count, count, 1]
  }

  private func meet(_ limit: Int, on multi: CurlMulti, _ easy: CurlEasy) {
    ccurl_multi_set_long(multi.handle, CURLMOPT_MAX_HOST_CONNECTIONS, limit)
    isInsideCurl = true
    curl_multi_add_handle(multi.handle, easy.handle)
    isInsideCurl = false
    action(CURL_SOCKET_TIMEOUT, 0, on: multi)
    // First, for an exchange that has met it nevertheless: removing a handle makes libcurl try such ones again.
    ccurl_multi_set_long(multi.handle, CURLMOPT_MAX_HOST_CONNECTIONS, 0)
    isInsideCurl = true
    curl_multi_remove_handle(multi.handle, easy.handle)
    isInsideCurl = false
  }
}

extension CurlEasy {
  /// Sets the handle up for an exchange to where a connection leads. The exchange opens nothing and sends nothing.
  func prepareToClose(_ socket: CurlSocket) {
    prepareAlone(for: socket.request, proxy: socket.proxy, shares: socket.use == .shared)
    ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
    ccurl_set_open_function(handle) { _, _, _ in -1 }
    // The name is not looked up.
    ccurl_set_resolver_function(handle) { _, _, _ in 1 }
  }
}
