// The server's system calls. All platform differences are in this file.

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// Non-blocking TCP sockets of the IPv4 loopback interface.
enum Socket {
  /// The result of accepting a connection.
  enum Arrival {
    case connection(Int32)
    case none
    /// The system has no descriptors or memory left; the connection stays in the queue.
    case exhausted
  }

  /// The result of receiving or sending.
  enum Transfer {
    case bytes(Int)
    case blocked
    /// The peer has closed or reset the connection.
    case ended
  }

  /// Creates a socket that listens on a port of 127.0.0.1 (0: any free one), and returns its actual port.
  static func listen(port: UInt16) throws(OriginError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = makeStream()
    guard descriptor >= 0 else { throw OriginError(.resources, errno: errno, port: port) }
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, Int32(1))
    var address = loopback(port)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) { pointer in
      // Every socket address may be read as a `sockaddr`; the kernel uses the family and the size passed along.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) != 0 || platformListen(descriptor, 4096) != 0
          || getsockname(descriptor, address, &size) != 0
      }
    }
    if failed {
      let reason = errno
      close(descriptor)
      throw OriginError(.listening, errno: reason, port: port)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  static func accept(_ listener: Int32) -> Arrival {
    while true {
      let descriptor = acceptNonBlocking(listener)
      if descriptor >= 0 {
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
        return .connection(descriptor)
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      default: return .none
      }
    }
  }

  static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Transfer {
    while true {
      // The pointers of this and the next method don't escape their closures, and their lengths are passed along.
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 { return .bytes(count) }
      if count == 0 { return .ended }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .ended
    }
  }

  /// Sends `bytes` from an index on, as far as the socket accepts them.
  static func send(_ descriptor: Int32, _ bytes: [UInt8], from start: Int) -> Transfer {
    while true {
      let count = bytes.withUnsafeBytes { buffer in
        let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
        return platformSend(descriptor, rest)
      }
      if count >= 0 { return .bytes(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .blocked : .ended
    }
  }

  /// Shuts down the sending side.
  static func shutdownWriting(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_WR)) }

  static func close(_ descriptor: Int32) { platformClose(descriptor) }

  /// Closes with a reset.
  static func reset(_ descriptor: Int32) {
    set(descriptor, SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    close(descriptor)
  }

  private static func set<Value: BitwiseCopyable>(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Value)
  {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size))
  }

  /// A number that is unique among living threads.
  static var currentThread: UInt {
    #if canImport(Glibc)
    UInt(pthread_self())
    #else
    UInt(bitPattern: pthread_self())
    #endif
  }
}

#if canImport(Glibc)
private let streamType = Int32(SOCK_STREAM.rawValue)
#else
private let streamType = SOCK_STREAM
#endif

private func makeStream() -> Int32 { madeNonBlocking(socket(AF_INET, streamType, 0)) }
// Swift's Glibc module does not export accept4, and Apple's systems don't have it.
private func acceptNonBlocking(_ listener: Int32) -> Int32 { madeNonBlocking(accept(listener, nil, nil)) }

private func madeNonBlocking(_ descriptor: Int32) -> Int32 {
  guard descriptor >= 0 else { return descriptor }
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  #if canImport(Darwin)
  var one: Int32 = 1
  setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
  #endif
  return descriptor
}

private func loopback(_ port: UInt16) -> sockaddr_in {
  var address = sockaddr_in()
  #if canImport(Darwin)
  address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
  #endif
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  return address
}

// Aliases for system functions that the methods above hide.
private func platformListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }
private func platformClose(_ descriptor: Int32) { _ = close(descriptor) }

private func platformSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  #if canImport(Darwin)
  send(descriptor, bytes.baseAddress, bytes.count, 0)
  #else
  send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
  #endif
}
