#if Redis
import HeadgateLibC
import HeadgateThreads

/// A connected stream socket, non-blocking, used by one thread that waits with a time limit. All system calls of the
/// module are here, except those that all stream sockets need.
final class RedisSocket: Sendable {
  enum Received {
    case bytes(ArraySlice<UInt8>)
    case nothing
  }

  let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { StreamSocket.close(descriptor) }

  static func connect(to place: RedisURL.Place, by deadline: Deadline) throws(RedisError) -> RedisSocket {
    switch place {
    case .path(let path):
      return try connect(AF_UNIX, to: "unix:\(path)", by: deadline) { descriptor in
        StreamSocket.withUnixAddress(path) { platformConnect(descriptor, $0, $1) }
      }
    case .host(let host, let port):
      var hints = addrinfo()
      hints.ai_socktype = StreamSocket.type
      var list: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, port, &hints, &list) == 0, let first = list else {
        throw RedisError("the host name \(host) of the Redis server could not be resolved", .broken)
      }
      defer { freeaddrinfo(first) }
      var failure = RedisError("\(host) has no address", .broken)
      // The list ends with nil, and each address is valid until the list is freed above.
      var next: UnsafeMutablePointer<addrinfo>? = first
      while let entry = next {
        next = entry.pointee.ai_next
        // An address that never answers leaves half of the time to the ones after it.
        let part = next == nil ? deadline : .after(max(.zero, deadline - .now) / 2)
        do throws(RedisError) {
          return try connect(entry.pointee.ai_family, to: "\(host):\(port)", by: part) {
            platformConnect($0, entry.pointee.ai_addr, entry.pointee.ai_addrlen)
          }
        } catch { failure = error }
      }
      throw failure
    }
  }

  private static func connect(
    _ family: Int32, to name: String, by deadline: Deadline, _ begin: (Int32) -> Int32
  ) throws(RedisError) -> RedisSocket {
    let descriptor = StreamSocket.make(family)
    guard descriptor >= 0 else { throw failure("connect to \(name)", errno) }
    let socket = RedisSocket(descriptor)
    prepare(descriptor, isTCP: family != AF_UNIX)
    if begin(descriptor) == 0 { return socket }
    guard errno == EINPROGRESS || errno == EINTR else { throw failure("connect to \(name)", errno) }
    guard socket.wait(for: Int16(POLLOUT), until: deadline) else {
      throw RedisError("can't connect to \(name): no answer within a second", .broken)
    }
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
    guard code == 0 else { throw failure("connect to \(name)", code) }
    return socket
  }

  private static func prepare(_ descriptor: Int32, isTCP: Bool) {
    StreamSocket.set(descriptor, SOL_SOCKET, SO_KEEPALIVE, Int32(1))
    guard isTCP else { return }
    // Data that was not sent is dropped when the socket is closed: the next connection declares what is held.
    StreamSocket.set(descriptor, SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    StreamSocket.set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    #if os(Linux)
    // Sent bytes that are not acknowledged within this many milliseconds end the connection, so that a link that went
    // down is noticed.
    StreamSocket.set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(5_000))
    #endif
  }

  private static func failure(_ action: String, _ number: Int32) -> RedisError {
    RedisError("can't \(action): \(String(cString: strerror(number)))", .broken)
  }

  func send(_ bytes: [UInt8], by deadline: Deadline) throws(RedisError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch StreamSocket.send(descriptor, rest) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .blocked:
        guard wait(for: Int16(POLLOUT), until: deadline) else {
          throw RedisError("Redis does not read what is sent", .broken)
        }
      case .ended(let number): throw Self.failure("write to Redis", number)
      }
    }
  }

  /// Reads what has arrived.
  func receive(into buffer: inout [UInt8]) throws(RedisError) -> Received {
    switch StreamSocket.receive(descriptor, into: &buffer) {
    case .bytes(let count): return .bytes(buffer[..<count])
    case .blocked: return .nothing
    case .ended(errno: 0): throw RedisError("Redis has closed the connection", .broken)
    case .ended(let number): throw Self.failure("read from Redis", number)
    }
  }

  /// Waits until the socket is readable or writable. Returns false at the deadline.
  func wait(for events: Int16, until deadline: Deadline) -> Bool {
    while true {
      let left = max(0, (deadline - .now).wholeNanoseconds)
      var entry = pollfd(fd: descriptor, events: events, revents: 0)
      let count = poll(&entry, 1, Int32(clamping: (left + 999_999) / 1_000_000))
      if count > 0 { return true }
      if count == 0 || errno != EINTR { return false }
    }
  }
}

// An alias for the system function that the methods above hide.
private func platformConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ size: socklen_t) -> Int32 {
  connect(descriptor, address, size)
}
#endif
