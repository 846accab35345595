import Foundation

/// A link to a server: forwards each connection to the socket of the server. While its process is stopped by a signal, the
/// link is silent, and what was sent meanwhile is delivered late.
struct Relay {
  private let listener: Int32
  private let target: String

  init(_ path: String, to target: String) throws {
    listener = try UnixSocket.listen(path)
    self.target = target
    // A write to a connection that has ended fails.
    signal(SIGPIPE, SIG_IGN)
  }

  func run() -> Never {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { exit(4) }
      guard let server = try? UnixSocket.connect(target) else {
        close(client)
        continue
      }
      Thread.detachNewThread {
        let back = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          Self.copy(from: server, to: client)
          back.signal()
        }
        Self.copy(from: client, to: server)
        back.wait()
        for end in [client, server] { close(end) }
      }
    }
  }

  /// Forwards until one side ends, and ends both directions.
  private static func copy(from source: Int32, to target: Int32) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    copying: while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0 else { break }
      var written = 0
      while written < count {
        let sent = buffer[written..<count].withUnsafeBytes { write(target, $0.baseAddress, $0.count) }
        guard sent > 0 else { break copying }
        written += sent
      }
    }
    for end in [source, target] { shutdown(end, 2) }
  }
}
