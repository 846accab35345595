// The text of a file:
//
//     headgate-state 1 api.example.com:443
//     server paused said=1764000000000 until=1764021600000 status=429
//     server suspended said=1764000000000 until=1764000060000 given-up
//     server learned said=1764000000000 until=1764003600000 requests=4 rate=28.5
//     program starts window=61200 1764000000612:1 1764000001224:3
//     end
//
// Anything else is not read at all: a part of a file says nothing about what is missing.

extension Remembered {
  /// A longer file is not one of these.
  static let mostBytes = 1 << 16

  /// The name of the file of an end-point, which also stands in it. Nil for one that is too long: nothing is remembered
  /// of such end-points.
  ///
  /// Capital letters, which only paths have, are escaped too, because some file systems don't distinguish them.
  static func name(of endPoint: EndPoint) -> String? {
    let text = endPoint.isUnixSocket ? "unix:" + endPoint.host : endPoint.description
    var name = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "["), UInt8(ascii: "]"):
        name.unicodeScalars.append(Unicode.Scalar(byte))
      default: name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return name.utf8.count <= 240 ? name : nil
  }

  /// The text of the file with this name.
  func text(named name: String) -> String {
    var lines = ["headgate-state 1 \(name)"]
    if let pause = server.pause {
      let status = pause.status.map { " status=\($0)" } ?? ""
      lines.append("server paused said=\(pause.said) until=\(pause.until)\(status)")
    }
    if let outage = server.outage {
      lines.append(
        "server suspended said=\(outage.said) until=\(outage.until)\(outage.hasGivenUp ? " given-up" : "")")
    }
    if let learned = server.learned {
      let rate = learned.rate.map { " rate=\($0)" } ?? ""
      lines.append(
        "server learned said=\(learned.said) until=\(learned.until) requests=\(learned.requests)\(rate)")
    }
    for window in program.windows {
      let parts = window.parts.map { " \($0.end):\($0.starts)" }.joined()
      lines.append("program starts window=\(window.length)\(parts)")
    }
    return lines.joined(separator: "\n") + "\nend\n"
  }

  /// Reads a text. Nil if it is not exactly the text of a file with this name. Nothing is clamped.
  init?(_ text: String, named name: String) {
    self.init()
    guard text.utf8.count <= Self.mostBytes else { return nil }
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Substring($0) }
    guard lines.count >= 3, lines[0] == "headgate-state 1 \(name)", lines[lines.count - 2] == "end",
      lines[lines.count - 1].isEmpty
    else { return nil }
    for line in lines[1..<(lines.count - 2)] {
      var words = Words(line)
      switch (words.next(), words.next()) {
      case ("server", "paused"): read(pause: &words)
      case ("server", "suspended"): read(outage: &words)
      case ("server", "learned"): read(learned: &words)
      case ("program", "starts"): read(window: &words)
      default: return nil
      }
      guard words.isValid, words.next() == nil else { return nil }
    }
    guard program.windows.count <= Program.mostWindows else { return nil }
  }

  private mutating func read(pause words: inout Words) {
    let (said, until) = (words.time("said"), words.time("until"))
    let status = words.hasNext ? Int(words.number("status", 100...999)) : nil
    server.pause = Server.Pause(said: said, until: until, status: status)
  }

  private mutating func read(outage words: inout Words) {
    let (said, until) = (words.time("said"), words.time("until"))
    server.outage = Server.Outage(said: said, until: until, hasGivenUp: words.hasNext && words.next() == "given-up")
  }

  private mutating func read(learned words: inout Words) {
    let (said, until) = (words.time("said"), words.time("until"))
    let requests = Int(words.number("requests", 1...1_000_000))
    let rate = words.hasNext ? words.rate("rate") : nil
    server.learned = Server.Learned(said: said, until: until, requests: requests, rate: rate)
  }

  private mutating func read(window words: inout Words) {
    var window = Program.Window(length: words.number("window", StartBound.shortest...Program.longestWindow))
    while words.isValid, let word = words.next() {
      words.isValid = window.read(part: word)
    }
    if program.windows.contains(where: { $0.length == window.length }) { words.isValid = false }
    program.windows.append(window)
  }

  /// The words of a line.
  private struct Words {
    private var words: ArraySlice<Substring>
    /// Whether all words so far were as expected.
    var isValid = true

    init(_ line: Substring) { words = line.split(separator: " ", omittingEmptySubsequences: false)[...] }

    var hasNext: Bool { !words.isEmpty }

    mutating func next() -> Substring? { words.popFirst() }

    /// The number of a word `name=number`. If it is not one in range, the line is not valid.
    mutating func number(_ name: String, _ range: ClosedRange<Int64>) -> Int64 {
      guard let text = value(name), let number = Int64(text), range.contains(number) else {
        isValid = false
        return range.lowerBound
      }
      return number
    }

    mutating func time(_ name: String) -> Int64 { number(name, Remembered.times) }

    mutating func rate(_ name: String) -> Double {
      guard let rate = value(name).flatMap({ Double($0) }), rate >= 0.1, rate <= 1e6 else {
        isValid = false
        return 1
      }
      return rate
    }

    private mutating func value(_ name: String) -> Substring? {
      guard let word = words.popFirst(), word.hasPrefix(name + "=") else { return nil }
      return word.dropFirst(name.utf8.count + 1)
    }
  }

  /// Far from overflow: about 140,000 years.
  fileprivate static let times: ClosedRange<Int64> = 0...(1 << 52)
}

extension Remembered.Program.Window {
  /// Reads `time:starts`. Returns whether it is that, and later than the parts before it.
  fileprivate mutating func read(part word: Substring) -> Bool {
    let numbers = word.split(separator: ":", omittingEmptySubsequences: false)
    guard numbers.count == 2, let end = Int64(numbers[0]), let starts = Int(numbers[1]),
      Remembered.times.contains(end), end > parts.last?.end ?? -1, (1...1_000_000_000_000).contains(starts),
      parts.count < Remembered.Program.mostParts
    else { return false }
    parts.append(Part(end: end, starts: starts))
    return true
  }
}
