#if canImport(Glibc)
import Foundation
import Glibc
import HeadgateThreads

/// A server that sends exactly the bytes of a test, on sockets of 127.0.0.1, with one thread for each connection.
final class RawServer: Sendable {
  /// One connection, on its own thread. It is closed when the test's function returns.
  struct Connection: Sendable {
    let descriptor: Int32
    /// Counted from 0, in the order of arrival.
    let number: Int

    /// The next request with its body, as far as it declares a length. Nil at the end of the connection.
    func request() -> String? {
      var bytes: [UInt8] = []
      while true {
        let text = String(decoding: bytes, as: UTF8.self)
        if let end = text.range(of: "\r\n\r\n") {
          let length = text[..<end.lowerBound].split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
          let wanted = length.flatMap { Int($0.dropFirst(16)) } ?? 0
          if text[end.upperBound...].utf8.count >= wanted { return text }
        }
        var piece = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { return nil }
        bytes += piece.prefix(count)
      }
    }

    /// False if the client has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Blocks until the client has closed its side, without reading, for at most a minute.
    func waitForEnd() {
      var wanted = pollfd(fd: descriptor, events: Self.peerHasClosed, revents: 0)
      while poll(&wanted, 1, 60_000) < 0, errno == EINTR {}
    }

    // POLLRDHUP, which Swift's module of glibc lacks.
    private static let peerHasClosed = Int16(0x2000)

    /// Whether the client has closed its side, or reset the connection.
    var hasEnded: Bool {
      var wanted = pollfd(fd: descriptor, events: Self.peerHasClosed, revents: 0)
      return poll(&wanted, 1, 0) > 0 && wanted.revents & (Self.peerHasClosed | Int16(POLLHUP | POLLERR)) != 0
    }
  }

  let port: Int
  private let listener: Int32
  private let state = LockedBox((accepted: 0, peak: 0, open: [Int32: Connection](), isOver: false, isClosed: false))

  /// - Parameters:
  /// - socket: The path of a Unix-domain socket to listen on. Nil: a port of 127.0.0.1.
  /// - receiveBuffer: The size of the sockets' receive buffers in bytes. Nil: the system's default.
  /// - serve: Handles a connection.
  init(
    socket path: String? = nil, receiveBuffer: Int32? = nil, _ serve: @escaping @Sendable (Connection) -> Void
  ) throws {
    let family = path == nil ? AF_INET : AF_UNIX
    let listener = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var port = 0
    if let path { Self.bind(listener, to: path) } else { port = Self.bindToLoopback(listener) }
    guard listener >= 0, listen(listener, 1024) == 0 else { throw CocoaError(.fileReadUnknown) }
    (self.listener, self.port) = (listener, port)
    Thread.detachNewThread { [self] in accept(serve) }
  }

  /// The number of connections made.
  var accepted: Int { state.withLock { $0.accepted } }

  /// The greatest number of connections that the client had open when it made another, including that one.
  var peak: Int { state.withLock { $0.peak } }

  func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Ends all connections.
  func stop() {
    state.withLock { state in
      state.isOver = true
      for descriptor in state.open.keys { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
    state.withLock { state in if !state.isClosed { shutdown(listener, Int32(SHUT_RDWR)) } }
  }

  /// Whether all connections are closed on this side too, by a deadline.
  func waitForAll(until deadline: Deadline) -> Bool {
    while !state.withLock({ $0.open.isEmpty && $0.isClosed }) {
      if Deadline.now > deadline { return false }
      usleep(1000)
    }
    return true
  }

  private func accept(_ serve: @escaping @Sendable (Connection) -> Void) {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else { break }
      var on: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
      let connection = state.withLock { state -> Connection in
        let connection = Connection(descriptor: descriptor, number: state.accepted)
        state.accepted += 1
        state.open[descriptor] = connection
        state.peak = max(state.peak, state.open.values.count { !$0.hasEnded })
        if state.isOver { shutdown(descriptor, Int32(SHUT_RDWR)) }
        return connection
      }
      Thread.detachNewThread { [self] in
        serve(connection)
        // Under the lock, since afterwards the number may belong to another socket.
        state.withLock { state in
          state.open[descriptor] = nil
          close(descriptor)
        }
      }
    }
    state.withLock { state in
      close(listener)
      state.isClosed = true
    }
  }

  private static func bindToLoopback(_ descriptor: Int32) -> Int {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Every socket address may be read as a `sockaddr`; the size is given beside it.
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = Glibc.bind(descriptor, $0, size)
        _ = getsockname(descriptor, $0, &size)
      }
    }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  private static func bind(_ descriptor: Int32, to path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    withUnsafePointer(to: &address) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, size) }
    }
  }
}
#endif
