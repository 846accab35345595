import HeadgateLibC
import HeadgateThreads

/// A program's connection to the permit server.
struct ServerConnection {
  /// What was read.
  enum Input {
    case lines([String])
    /// A line is too long.
    case tooLong
    case ended
  }

  let descriptor: Int32
  let program: PermitLedger.Program
  /// The process that has connected, for people. Zero if unknown.
  let process: Int32
  private var received: [UInt8] = []
  private var pending: [UInt8] = []
  /// Whether it is closed as soon as everything is sent.
  private(set) var isEnding = false

  /// The most bytes that may wait to be sent. Beyond that the program, which reads nothing, is disconnected.
  private static let mostPending = 1 << 20

  init(_ descriptor: Int32, _ program: PermitLedger.Program) {
    (self.descriptor, self.program) = (descriptor, program)
    process = LocalSocket.peer(of: descriptor)
  }

  /// Whether it waits for room in the socket.
  var isBlocked: Bool { !pending.isEmpty }

  mutating func read(into buffer: inout [UInt8]) -> Input {
    switch StreamSocket.receive(descriptor, into: &buffer) {
    case .ended: return .ended
    case .blocked: return .lines([])
    case .bytes(let count): received += buffer[..<count]
    }
    var lines: [String] = []
    var start = received.startIndex
    while let end = received[start...].firstIndex(of: UInt8(ascii: "\n")) {
      lines.append(String(decoding: received[start..<end], as: UTF8.self))
      start = end + 1
    }
    received.removeSubrange(..<start)
    return received.count > PermitWords.longestLine ? .tooLong : .lines(lines)
  }

  /// Sends a line, or keeps it until the socket has room. Returns false if the connection must be closed.
  mutating func send(_ line: String) -> Bool {
    pending += line.utf8
    pending.append(UInt8(ascii: "\n"))
    return flush() && pending.count <= Self.mostPending
  }

  /// Sends what is pending. Returns false if the connection must be closed.
  mutating func flush() -> Bool {
    while !pending.isEmpty {
      switch StreamSocket.send(descriptor, pending[...]) {
      case .bytes(let count): pending.removeFirst(count)
      case .blocked: return true
      case .ended: return false
      }
    }
    return !isEnding
  }

  /// Closes the connection as soon as everything pending has been sent.
  mutating func end() { isEnding = true }
}
