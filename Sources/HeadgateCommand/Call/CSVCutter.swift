import HeadgateReport

/// Splits CSV (RFC 4180) with a header line into rows. Each row becomes an object with the header's names and with
/// strings as values. Quoted values may contain commas, line feeds and doubled quotation marks. Blank lines are
/// skipped. Holds at most one row in memory.
struct CSVCutter: InputCutter {
  private enum Place {
    case start, plain, quoted, quoteInQuoted
    /// A carriage return follows a value.
    case returnAfterPlain, returnAfterQuoted
  }

  private var names: [String]?
  private var place = Place.start
  private var value: [UInt8] = []
  private var values: [[UInt8]] = []
  private var size = 0
  private var problem: String?
  private var line = 1
  private var firstLine = 1
  /// Set if the header is invalid: no row can be read then.
  private var isGivenUp = false
  private let longest: Int

  init(longest: Int = RowSize.longest) { self.longest = longest }

  var lines: Int { line - 1 }

  mutating func cut(_ piece: [UInt8]) -> [RawRow] {
    var rows: [RawRow] = []
    for byte in piece {
      add(byte)
      if byte == UInt8(ascii: "\n") {
        line += 1
        if place != .quoted { rows += endRow() }
      }
    }
    return rows
  }

  mutating func finish() -> [RawRow] {
    guard place != .start || !values.isEmpty || size > 0 else { return [] }
    if place == .quoted { problem = problem ?? "a quoted value is not closed" }
    return endRow()
  }

  private mutating func add(_ byte: UInt8) {
    // Otherwise a list with the line ends of old Macs would be one long header, and no row would be sent.
    if place == .returnAfterPlain || place == .returnAfterQuoted, byte != UInt8(ascii: "\n") {
      problem = problem ?? "a carriage return is not followed by a line feed"
      place = .plain
    }
    switch (place, byte) {
    case (.quoted, UInt8(ascii: "\"")): place = .quoteInQuoted
    case (.quoted, _): keep(byte)
    case (.quoteInQuoted, UInt8(ascii: "\"")):
      keep(byte)
      place = .quoted
    case (.start, UInt8(ascii: "\"")): place = .quoted
    case (_, UInt8(ascii: ",")): endValue()
    case (_, UInt8(ascii: "\n")): break
    case (.quoteInQuoted, UInt8(ascii: "\r")): place = .returnAfterQuoted
    case (_, UInt8(ascii: "\r")): place = .returnAfterPlain
    case (.quoteInQuoted, _): problem = problem ?? "text follows a quoted value"
    case (_, UInt8(ascii: "\"")):
      problem = problem ?? "a value that is not quoted contains a quotation mark"
    default:
      keep(byte)
      place = .plain
      // A byte order mark.
      if line == 1, values.isEmpty, value == [0xEF, 0xBB, 0xBF] { (value, size, place) = ([], 0, .start) }
    }
  }

  private mutating func keep(_ byte: UInt8) {
    size += 1
    if size <= longest { value.append(byte) } else { problem = problem ?? RowSize.problem(longest) }
  }

  private mutating func endValue() {
    size += 1
    if size <= longest { values.append(value) } else { problem = problem ?? RowSize.problem(longest) }
    (value, place) = ([], .start)
  }

  private mutating func endRow() -> [RawRow] {
    let isQuoted = place == .quoteInQuoted || place == .returnAfterQuoted
    let isBlank = values.isEmpty && value.isEmpty && !isQuoted && problem == nil
    endValue()
    defer { (values, size, problem, firstLine) = ([], 0, nil, line) }
    if isBlank || isGivenUp { return [] }
    var texts: [String] = []
    for value in values {
      guard let text = String(validating: value, as: UTF8.self) else {
        problem = problem ?? "it is not UTF-8"
        break
      }
      texts.append(text)
    }
    guard let names else { return takeHeader(texts) }
    if problem == nil, texts.count != names.count {
      let values = texts.count == 1 ? "1 value" : "\(texts.count) values"
      problem = "it has \(values), but the header has \(names.count == 1 ? "1 name" : "\(names.count) names")"
    }
    if let problem {
      return [RawRow(line: firstLine, unreadable: Array(values.joined(separator: [UInt8(ascii: ",")])), problem)]
    }
    let members = zip(names, texts).map { JSONMember(name: $0, value: .string($1)) }
    return [RawRow(line: firstLine, size: size, .object(members))]
  }

  private mutating func takeHeader(_ texts: [String]) -> [RawRow] {
    if problem == nil, Set(texts.map { Array($0.utf8) }).count < texts.count {
      problem = "a name occurs twice in the header"
    }
    names = texts
    guard let problem else { return [] }
    isGivenUp = true
    return [RawRow(line: firstLine, unreadable: [], "the header is invalid, so no row can be read: \(problem)")]
  }
}
