#if Redis
import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A connected stream socket, non-blocking, used by one thread that waits with a time limit. All system calls of the
/// module are here.
final class RedisSocket: Sendable {
  enum Received {
    case bytes(ArraySlice<UInt8>)
    case nothing
  }

  let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { platformClose(descriptor) }

  static func connect(to place: RedisURL.Place, by deadline: Deadline) throws(RedisError) -> RedisSocket {
    switch place {
    case .path(let path):
      return try connect(AF_UNIX, to: "unix:\(path)", by: deadline) { descriptor in
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let isShort = withUnsafeMutableBytes(of: &address.sun_path) { room in
          guard bytes.count < room.count else { return false }
          room.copyBytes(from: bytes)
          return true
        }
        guard isShort else {
          errno = ENAMETOOLONG
          return -1
        }
        // Every socket address may be read as a `sockaddr`; the kernel uses the family and the size passed along.
        return withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            platformConnect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
      }
    case .host(let host, let port):
      var hints = addrinfo()
      hints.ai_socktype = streamType
      var list: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, port, &hints, &list) == 0, let first = list else {
        throw RedisError("the name \(host) of the Redis server is not known", .broken)
      }
      defer { freeaddrinfo(first) }
      var failure = RedisError("\(host) has no address", .broken)
      // The list ends with nil, and each address is valid until the list is freed above.
      var next: UnsafeMutablePointer<addrinfo>? = first
      while let entry = next {
        next = entry.pointee.ai_next
        do throws(RedisError) {
          return try connect(entry.pointee.ai_family, to: "\(host):\(port)", by: deadline) {
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
    let descriptor = socket(family, streamType, 0)
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
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    #if canImport(Darwin)
    set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
    #endif
    guard isTCP else { return }
    // What was not sent yet is dropped at the close: the next connection declares what is held.
    var drop = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &drop, socklen_t(MemoryLayout<linger>.size))
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    #if os(Linux)
    // Milliseconds until sent bytes that are not acknowledged end the connection: a link that went down is noticed.
    set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 5_000)
    #endif
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func failure(_ action: String, _ number: Int32) -> RedisError {
    RedisError("can't \(action): \(String(cString: strerror(number)))", .broken)
  }

  func send(_ bytes: [UInt8], by deadline: Deadline) throws(RedisError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // The pointer does not leave the closure, and its length is passed along.
      let count = rest.withUnsafeBytes { platformSend(descriptor, $0) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        guard wait(for: Int16(POLLOUT), until: deadline) else { throw RedisError("Redis reads nothing", .broken) }
      } else if errno != EINTR {
        throw Self.failure("write to Redis", errno)
      }
    }
  }

  /// Reads what has arrived.
  func receive(into buffer: inout [UInt8]) throws(RedisError) -> Received {
    while true {
      // The pointer does not leave the closure, and its length is passed along.
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 { return .bytes(buffer[..<count]) }
      if count == 0 { throw RedisError("Redis has closed the connection", .broken) }
      if errno == EAGAIN || errno == EWOULDBLOCK { return .nothing }
      if errno != EINTR { throw Self.failure("read from Redis", errno) }
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

#if canImport(Glibc)
private let streamType = Int32(SOCK_STREAM.rawValue)
#else
private let streamType = SOCK_STREAM
#endif

// Aliases for system functions that the methods above hide.
private func platformClose(_ descriptor: Int32) { _ = close(descriptor) }
private func platformConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ size: socklen_t) -> Int32 {
  connect(descriptor, address, size)
}

private func platformSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  #if canImport(Darwin)
  send(descriptor, bytes.baseAddress, bytes.count, 0)
  #else
  send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
  #endif
}
#endif
