// Unix-domain sockets: all system calls of the permit protocol's connections.

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Non-blocking stream sockets.
enum LocalSocket {
  enum Transfer {
    case bytes(Int)
    case blocked
    case ended
  }

  static func listen(at path: String) throws(SystemFailure) -> Int32 {
    let descriptor = try make()
    unlink(path)
    guard withAddress(path, { bind(descriptor, $0, $1) }) == 0, platformListen(descriptor, 512) == 0 else {
      let failure = SystemFailure("listen at \(path)")
      platformClose(descriptor)
      throw failure
    }
    return descriptor
  }

  /// - Throws: ENOENT or ECONNREFUSED if no server listens.
  static func connect(to path: String) throws(SystemFailure) -> Int32 {
    let descriptor = try make()
    while withAddress(path, { platformConnect(descriptor, $0, $1) }) != 0 {
      if errno == EINTR { continue }
      let failure = SystemFailure("connect to \(path)")
      platformClose(descriptor)
      throw failure
    }
    return descriptor
  }

  /// Nil if no connection waits.
  ///
  /// - Throws: EMFILE or ENFILE if no descriptor is left.
  static func accept(_ listener: Int32) throws(SystemFailure) -> Int32? {
    while true {
      let descriptor = platformAccept(listener)
      if descriptor >= 0 { return prepared(descriptor) }
      if errno == EAGAIN || errno == EWOULDBLOCK { return nil }
      if errno != EINTR, errno != ECONNABORTED { throw SystemFailure("accept a connection") }
    }
  }

  static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Transfer {
    while true {
      // The pointers of this and the next method don't leave their closures, and their lengths are passed along.
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 { return .bytes(count) }
      if count == 0 { return .ended }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .ended
    }
  }

  static func send(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Transfer {
    while true {
      let count = bytes.withUnsafeBytes { platformSend(descriptor, $0) }
      if count >= 0 { return .bytes(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .ended
    }
  }

  static func close(_ descriptor: Int32) { platformClose(descriptor) }

  private static func make() throws(SystemFailure) -> Int32 {
    let descriptor = prepared(socket(AF_UNIX, streamType, 0))
    guard descriptor >= 0 else { throw SystemFailure("create a socket") }
    return descriptor
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
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
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

#if canImport(Glibc)
private let streamType = Int32(SOCK_STREAM.rawValue)
#else
private let streamType = SOCK_STREAM
#endif

private func prepared(_ descriptor: Int32) -> Int32 {
  guard descriptor >= 0 else { return descriptor }
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  #if canImport(Darwin)
  var one: Int32 = 1
  setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
  #endif
  return descriptor
}

// Aliases for system functions that the methods above hide.
private func platformListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }
private func platformConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
  connect(descriptor, address, size)
}
private func platformAccept(_ listener: Int32) -> Int32 { accept(listener, nil, nil) }
private func platformClose(_ descriptor: Int32) { _ = close(descriptor) }

private func platformSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  #if canImport(Darwin)
  send(descriptor, bytes.baseAddress, bytes.count, 0)
  #else
  send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
  #endif
}
