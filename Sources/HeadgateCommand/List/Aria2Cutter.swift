import HeadgateDispatch

/// Cuts a list in the format of aria2 into entries. An entry waits until the line that follows its options arrives.
struct Aria2Cutter: InputCutter {
  /// The number of unsupported options that are recorded for an entry.
  private static let mostUnknown = 8

  private var raw = RawLines()
  private var waiting: (number: Int, entry: ListEntry)?
  /// Whether the entry above is invalid, so that its further options are ignored.
  private var isDropped = false

  // The waiting entry may be incomplete.
  var lines: Int { waiting.map { $0.number - 1 } ?? raw.number }

  mutating func cut(_ piece: [UInt8]) -> [NumberedLine] {
    var lines: [(Int, Aria2Line)] = []
    raw.cut(piece) { lines.append(($0, Aria2Line($1))) }
    return lines.flatMap { take($0, $1) }
  }

  mutating func finish() -> [NumberedLine] {
    var lines: [(Int, Aria2Line)] = []
    raw.finish { lines.append(($0, Aria2Line($1))) }
    return lines.flatMap { take($0, $1) } + passOn()
  }

  private mutating func take(_ number: Int, _ line: Aria2Line) -> [NumberedLine] {
    switch line {
    case .nothing: return []
    case .urls(let urls):
      defer { (waiting, isDropped) = ((number, ListEntry(urls: urls)), false) }
      return passOn()
    case .bad(let line):
      defer { isDropped = true }
      return passOn() + [NumberedLine(number: number, line: line)]
    case .option(let name, let value):
      guard waiting != nil else {
        defer { isDropped = true }
        let text = "\(name)=\(value)"
        return isDropped
          ? [] : [NumberedLine(number: number, line: .bad(text, because: "it is an option without a URL above it"))]
      }
      guard let problem = set(name, value) else { return [] }
      (waiting, isDropped) = (nil, true)
      return [
        NumberedLine(number: number, line: .bad("\(name)=\(value)", because: problem + "; its URL is not fetched"))
      ]
    }
  }

  private mutating func passOn() -> [NumberedLine] {
    waiting.take().map { [NumberedLine(number: $0.number, line: .entry($0.entry))] } ?? []
  }

  /// Sets an option. Returns what is wrong with its value, or nil.
  private mutating func set(_ name: String, _ value: String) -> String? {
    switch name {
    case "out":
      guard let name = FileName.given(value) else { return "it is not a valid path of a file below the folder" }
      waiting?.entry.name = name
    case "checksum":
      let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].lowercased() == "sha-256" else {
        return "only sha-256 is supported: write checksum=sha-256=DIGITS"
      }
      guard let checksum = Checksum(parts[1]) else { return "a SHA-256 has 64 hexadecimal digits" }
      waiting?.entry.checksum = checksum
    default:
      guard let entry = waiting?.entry, entry.unknown.count < Self.mostUnknown else { return nil }
      waiting?.entry.unknown.append(name)
    }
    return nil
  }
}
