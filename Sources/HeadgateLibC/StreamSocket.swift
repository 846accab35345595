// The system calls of stream sockets that work alike for TCP and Unix-domain sockets. Platform differences are handled
// here.

/// Non-blocking stream sockets. They are closed when another program is executed, and a broken connection raises no
/// signal.
package enum StreamSocket {
  /// The result of receiving or sending.
  package enum Transfer {
    case bytes(Int)
    case blocked
    /// The peer has closed the connection, or it broke. The error number is zero for an orderly end.
    case ended(errno: Int32)
  }

  #if canImport(Glibc)
  package static let type = Int32(SOCK_STREAM.rawValue)
  private static let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
  #elseif canImport(Musl)
  package static let type = SOCK_STREAM
  private static let flags = SOCK_CLOEXEC | SOCK_NONBLOCK
  #else
  package static let type = SOCK_STREAM
  private static let flags: Int32 = 0
  #endif

  /// Creates a socket. Negative, with `errno`, if the system refuses.
  package static func make(_ family: Int32) -> Int32 { prepared(socket(family, type | flags, 0)) }

  /// Accepts a connection. Negative, with `errno`, if none is waiting or the system refuses.
  package static func accept(_ listener: Int32) -> Int32 {
    while true {
      let descriptor = platformAccept(listener, flags)
      if descriptor >= 0 { return prepared(descriptor) }
      if errno != EINTR, errno != ECONNABORTED { return descriptor }
    }
  }

  package static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Transfer {
    while true {
      // The pointer does not leave the closure, and its length is passed along.
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 { return .bytes(count) }
      if count == 0 { return .ended(errno: 0) }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .ended(errno: errno)
    }
  }

  /// Sends as many bytes as the socket accepts.
  package static func send(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Transfer {
    while true {
      // The pointer does not leave the closure, and its length is passed along.
      let count = bytes.withUnsafeBytes { platformSend(descriptor, $0) }
      if count >= 0 { return .bytes(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .ended(errno: errno)
    }
  }

  package static func close(_ descriptor: Int32) { platformClose(descriptor) }

  package static func set<Value: BitwiseCopyable>(
    _ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Value
  ) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size))
  }

  /// Calls `body` with the address of a Unix-domain socket. Negative, with `errno`, if the path is too long.
  package static func withUnixAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
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
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  // On Linux the flags are set when the socket is created, so that a program that another thread starts meanwhile
  // cannot inherit it. Apple's systems have no such flags.
  private static func prepared(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
    guard descriptor >= 0 else { return descriptor }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, Int32(1))
    #endif
    return descriptor
  }
}

// Aliases for system functions that the methods above hide.
private func platformAccept(_ listener: Int32, _ flags: Int32) -> Int32 {
  #if canImport(Darwin)
  accept(listener, nil, nil)
  #else
  headgate_accept(listener, flags)
  #endif
}
private func platformClose(_ descriptor: Int32) { _ = close(descriptor) }

private func platformSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  #if canImport(Darwin)
  send(descriptor, bytes.baseAddress, bytes.count, 0)
  #else
  send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
  #endif
}
