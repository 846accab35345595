import HeadgateLibC
import HeadgateThreads

/// Unix-domain sockets of the permit protocol, non-blocking.
enum LocalSocket {
  static func listen(at path: String) throws(SystemFailure) -> Int32 {
    let descriptor = try make()
    unlink(path)
    guard StreamSocket.withUnixAddress(path, { bind(descriptor, $0, $1) }) == 0,
      platformListen(descriptor, 512) == 0
    else { throw failure("listen at \(path)", descriptor) }
    return descriptor
  }

  /// - Throws: ENOENT or ECONNREFUSED if no server listens.
  static func connect(to path: String) throws(SystemFailure) -> Int32 {
    let descriptor = try make()
    while StreamSocket.withUnixAddress(path, { platformConnect(descriptor, $0, $1) }) != 0 {
      if errno != EINTR { throw failure("connect to \(path)", descriptor) }
    }
    return descriptor
  }

  /// Nil if no connection waits.
  ///
  /// - Throws: EMFILE or ENFILE if no descriptor is left.
  static func accept(_ listener: Int32) throws(SystemFailure) -> Int32? {
    let descriptor = StreamSocket.accept(listener)
    if descriptor >= 0 { return descriptor }
    if errno == EAGAIN || errno == EWOULDBLOCK { return nil }
    throw SystemFailure("accept a connection")
  }

  /// The process at the other end, as it was when it connected. Zero if the system does not tell, or for a process in
  /// another container.
  static func peer(of descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
    var process = pid_t()
    var size = socklen_t(MemoryLayout<pid_t>.size)
    return getsockopt(descriptor, SOL_LOCAL, LOCAL_PEERPID, &process, &size) == 0 ? process : 0
    #else
    // The fields of `ucred`, of four bytes each: process, user and group.
    var peer: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
    var size = socklen_t(MemoryLayout.size(ofValue: peer))
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.process : 0
    #endif
  }

  private static func make() throws(SystemFailure) -> Int32 {
    let descriptor = StreamSocket.make(AF_UNIX)
    guard descriptor >= 0 else { throw SystemFailure("create a socket") }
    return descriptor
  }

  /// The failure of the last call. Closes the socket.
  private static func failure(_ action: String, _ descriptor: Int32) -> SystemFailure {
    let failure = SystemFailure(action)
    StreamSocket.close(descriptor)
    return failure
  }
}

// Aliases for system functions that the methods above hide.
private func platformListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }
private func platformConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
  connect(descriptor, address, size)
}
