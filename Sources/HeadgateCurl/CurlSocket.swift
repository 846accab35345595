import CCurl
import HeadgateDispatch
import HeadgateLibC

/// An open socket. A class, because its users change with each exchange. Used only on the loop's thread.
final class CurlSocket: IdleNode {
  let descriptor: Int32
  let route: SocketRoute
  /// The multi handle that it belongs to.
  let use: CurlMulti.Use
  /// The request for which it was opened: libcurl finds its connection by that.
  let request: DispatchRequest
  let proxy: CurlProxy?
  // Unowned: the loop keeps the place while it has sockets.
  unowned let place: EndPointSockets
  // Distinguishes the socket from a later one with the same descriptor.
  private let inode: UInt64
  // Where it was leased.
  private let leases: SocketLeases?

  /// The number of exchanges that use it. A connection may pass to the next exchange before the end of the previous one
  /// is reported.
  var users = 0
  /// The exchange that uses it, or the last of several. Nil while it is idle.
  var user: CurlTransfer?
  var idleLinks = IdleLinks<CurlSocket>()
  /// 0 until the connection is established.
  var localPort = 0
  /// What OpenSSL reports about it.
  var tls: TLSRecord?
  private(set) var isOpen = true
  private var wasConnected = false

  init(_ descriptor: Int32, of place: EndPointSockets, for transfer: CurlTransfer, _ leases: SocketLeases?) {
    self.descriptor = descriptor
    self.place = place
    self.leases = leases
    (route, use) = (transfer.route, transfer.multi?.use ?? .own)
    (request, proxy) = (transfer.exchange.request, transfer.proxy)
    inode = Self.inode(descriptor)
  }

  /// Whether libcurl has closed it without notice, as 7.88 does with sockets that never connected.
  var isGone: Bool { Self.inode(descriptor) != inode }

  /// Whether there are bytes or an end of stream to read.
  var hasArrived: Bool { HeadgateCurl.hasArrived(at: descriptor) }

  /// The number of bytes to read, as far as libcurl takes them at once.
  var unreadBytes: Int {
    var count: Int32 = 0
    #if canImport(Darwin)
    var size = socklen_t(MemoryLayout<Int32>.size)
    let isKnown = getsockopt(descriptor, SOL_SOCKET, SO_NREAD, &count, &size) == 0
    #else
    let isKnown = ioctl(descriptor, UInt(FIONREAD), &count) == 0
    #endif
    return isKnown ? min(Int(count), 16 * 1024) : 0
  }

  /// Whether its connection was still established when it was closed, or is: not reset, and not timed out; and with TLS
  /// not ended by the server, which libcurl reports like a reset if there was no closing alert.
  var isStillConnected: Bool { isOpen ? isConnected : wasConnected }

  /// The socket is about to be closed.
  func closes() {
    isOpen = false
    if users > 0 { wasConnected = isConnected }
  }

  /// The socket is closed, or the server sees it as closed.
  func release() { leases?.release(route) }

  private var isConnected: Bool {
    var byte = UInt8(0)
    if request.isSecure, recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0 { return false }
    var (address, size) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
    return withUnsafeMutablePointer(to: &address) { pointer in
      // `sockaddr` is the beginning of every address.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
    }
  }

  private static func inode(_ descriptor: Int32) -> UInt64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
  }
}
