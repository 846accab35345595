import HeadgateLibC
import HeadgateThreads

/// A connection to the permit server for programs that do one thing at a time: its calls block.
struct PermitChannel {
  private let socket: Int32
  private var received: [UInt8] = []
  private var buffer = [UInt8](repeating: 0, count: 4096)

  /// Connects.
  ///
  /// - Throws: As ``PermitFolder/connect()``.
  init(_ folder: PermitFolder) throws(SystemFailure) { socket = try folder.connect() }

  func close() { StreamSocket.close(socket) }

  func send(_ command: PermitCommand) throws(SystemFailure) {
    var rest = Array((command.line + "\n").utf8)[...]
    while !rest.isEmpty {
      switch StreamSocket.send(socket, rest) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .blocked: _ = wait(for: POLLOUT, until: .distantFuture)
      case .ended: throw SystemFailure("write to the permit server")
      }
    }
  }

  /// The next reply. Nil at the end of the connection, or if the deadline passes.
  mutating func next(until deadline: Deadline = .distantFuture) -> PermitReply? {
    while true {
      while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: received[..<end], as: UTF8.self)
        received.removeSubrange(...end)
        if let reply = PermitReply(line: line) { return reply }
      }
      switch StreamSocket.receive(socket, into: &buffer) {
      case .bytes(let count): received += buffer[..<count]
      case .blocked: if !wait(for: POLLIN, until: deadline) { return nil }
      case .ended: return nil
      }
    }
  }

  /// Returns false if the deadline has passed.
  private func wait(for events: Int32, until deadline: Deadline) -> Bool {
    var wanted = pollfd(fd: socket, events: Int16(events), revents: 0)
    let left = max(0, deadline.nanoseconds(since: .now) / 1_000_000 + 1)
    _ = poll(&wanted, 1, deadline == .distantFuture ? -1 : Int32(clamping: left))
    return deadline > .now
  }
}
