/// What the permit server tells a program: one line of the protocol.
enum PermitReply: Sendable, Hashable {
  /// The permit is granted. A process holds it while it has the named pipe open for writing. `programs` is the number
  /// of connected programs.
  case granted(UInt64, pipe: String, programs: Int)
  /// The request can never be granted: a word for the reason, and a text.
  case refused(UInt64, code: String, String)
  /// A line of the server's state.
  case status(String)
  /// The end of the state.
  case end
  /// The first line of a connection: the verbs that versions before this one did not have.
  case knows([String])
  /// An end-point accepts nothing for a while.
  case pause(PermitPause)
  /// The server is of an earlier version, and has ignored a command.
  case unknown(String)
  /// The program broke the protocol: the connection is closed.
  case error(String)

  /// Nil for a line of another version, which is ignored.
  init?(line: String) {
    let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    let rest = parts.count > 2 ? String(parts[2]) : ""
    switch parts.first {
    case "granted":
      // The path comes last, because it may contain spaces.
      let words = rest.split(separator: " ", maxSplits: 1)
      guard parts.count == 3, let number = UInt64(parts[1]), words.count == 2, let programs = Int(words[0]) else {
        return nil
      }
      self = .granted(number, pipe: String(words[1]), programs: programs)
    case "refused":
      let words = rest.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 3, let number = UInt64(parts[1]), words.count == 2 else { return nil }
      self = .refused(number, code: String(words[0]), String(words[1]))
    case "status": self = .status(String(line.dropFirst(7)))
    case "end": self = .end
    case "knows": self = .knows(line.split(separator: " ").dropFirst().map { String($0) })
    case "pause":
      guard let pause = PermitWords(line: line).flatMap({ PermitPause($0) }) else { return nil }
      self = .pause(pause)
    case "unknown": self = .unknown(String(line.dropFirst(8)))
    case "error": self = .error(String(line.dropFirst(6)))
    default: return nil
    }
  }

  /// The line, without its end.
  var line: String {
    switch self {
    case .granted(let number, let pipe, let programs): "granted \(number) \(programs) \(pipe)"
    case .refused(let number, let code, let text): "refused \(number) \(code) \(text)"
    case .status(let text): "status \(text)"
    case .end: "end"
    case .knows(let verbs): (["knows"] + verbs).joined(separator: " ")
    case .pause(let pause): pause.words.line
    case .unknown(let verb): "unknown \(verb)"
    case .error(let text): "error \(text)"
    }
  }
}
