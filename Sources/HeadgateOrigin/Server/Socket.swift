// The server's system calls, except those that all stream sockets need.

import HeadgateLibC
import HeadgateThreads

/// Non-blocking TCP sockets of the IPv4 loopback interface.
enum Socket {
  /// The result of accepting a connection.
  enum Arrival {
    case connection(Int32)
    case none
    /// The system has no descriptors or memory left; the connection stays in the queue.
    case exhausted
  }

  /// Creates a socket that listens on a port of 127.0.0.1 (0: any free one), and returns its actual port.
  static func listen(port: UInt16) throws(OriginError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = StreamSocket.make(AF_INET)
    guard descriptor >= 0 else { throw OriginError(.resources, errno: errno, port: port) }
    StreamSocket.set(descriptor, SOL_SOCKET, SO_REUSEADDR, Int32(1))
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
      StreamSocket.close(descriptor)
      throw OriginError(.listening, errno: reason, port: port)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  static func accept(_ listener: Int32) -> Arrival {
    let descriptor = StreamSocket.accept(listener)
    guard descriptor < 0 else {
      StreamSocket.set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
      return .connection(descriptor)
    }
    switch errno {
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
    default: return .none
    }
  }

  /// Shuts down the sending side.
  static func shutdownWriting(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Closes with a reset.
  static func reset(_ descriptor: Int32) {
    StreamSocket.set(descriptor, SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    StreamSocket.close(descriptor)
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

// An alias for the system function that the method above hides.
private func platformListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }
