import HeadgateThreads

// What people want to know of remembered state, and its removal.

extension GateState {
  /// What is kept of an end-point.
  package struct Entry: Hashable, Sendable {
    /// Host and port, or the path of a socket after `unix:`.
    package let endPoint: String
    /// Each in words for people: `paused for 6 h 2 min by 429`, `312 starts within 24 h 0 min`.
    package let facts: [String]
  }

  /// The end-points of which something is kept, in the order of their names. None if there is no folder.
  ///
  /// - Throws: An error with a sentence, if the folder can't be used.
  package func entries() throws -> [Entry] {
    guard try folder.isUsable() else { return [] }
    let now = now
    return try folder.names().sorted().compactMap { name in
      guard let text = try folder.read(name), var known = Remembered(text, named: name) else { return nil }
      known.clamp(at: now)
      let facts = known.facts(at: now)
      return facts.isEmpty ? nil : Entry(endPoint: Remembered.endPoint(named: name), facts: facts)
    }
  }

  /// Forgets the end-points that a pattern names.
  ///
  /// - Parameter pattern: Nil for all.
  /// - Returns: How many files were removed.
  /// - Throws: An error with a sentence, if the folder can't be used.
  package func clear(_ pattern: HostPattern?) throws -> Int {
    guard try folder.isUsable() else { return 0 }
    return try folder.withLock(patience: 1000) { _ throws(StateFailure) in
      let names = try folder.names().filter { name in
        guard let pattern else { return true }
        guard let endPoint = try? EndPoint("http://" + name) else { return false }
        return HostPattern.mostSpecific(in: [pattern: ()], for: endPoint) != nil
      }
      for name in names { folder.remove(name) }
      return names.count
    }
  }
}

extension Remembered {
  /// The end-point of a file, with what its name escapes.
  fileprivate static func endPoint(named name: String) -> String {
    var bytes: [UInt8] = []
    var rest = name.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let escaped = UInt8(String(Substring(rest.prefix(2))), radix: 16) {
        bytes.append(escaped)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  fileprivate func facts(at now: Int64) -> [String] {
    func left(_ until: Int64) -> String { Duration.milliseconds(until - now).words }
    var facts: [String] = []
    if let pause = server.pause {
      facts.append("paused for \(left(pause.until))" + (pause.status.map { " by \($0)" } ?? ""))
    }
    if let outage = server.outage { facts.append("unreachable, next try in \(left(outage.until))") }
    if let learned = server.learned {
      let rate = learned.rate.map { " and \(($0 * 10).rounded() / 10)/s" } ?? ""
      facts.append("learned limit \(learned.requests)\(rate), for \(left(learned.until))")
    }
    for window in program.windows {
      let starts = window.parts.reduce(0) { $0 + $1.starts }
      facts.append("\(starts) starts within \(Duration.milliseconds(window.length).words)")
    }
    return facts
  }
}
