@testable import HeadgateCommand

/// A terminal of a given width that records everything it has shown: the command's output has no other effect.
struct TerminalModel {
  private(set) var rows: [[Unicode.Scalar]] = [[]]
  private(set) var problems: [String] = []
  private let columns: Int
  private let height: Int
  private var row = 0
  private var column = 0
  private var escape: String?

  init(columns: Int, height: Int) {
    self.columns = columns
    self.height = height
  }

  var lines: [String] {
    rows.map { row in
      var view = String.UnicodeScalarView()
      view.append(contentsOf: row)
      return String(view)
    }
  }

  mutating func write(_ text: String) { for scalar in text.unicodeScalars { take(scalar) } }

  private mutating func take(_ scalar: Unicode.Scalar) {
    if var sequence = escape {
      sequence.unicodeScalars.append(scalar)
      let isWhole = sequence != "[" && scalar.properties.isAlphabetic
      escape = isWhole ? nil : sequence
      if isWhole { obey(sequence) }
      return
    }
    switch scalar {
    case "\u{1B}": escape = ""
    case "\r": column = 0
    case "\n":
      row += 1
      column = 0
      if row == rows.count { rows.append([]) }
    default:
      if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) { problems.append("control \(scalar.value)") }
      if column + DisplayWidth.of(scalar) > columns { take("\n") }
      rows[row] = Array(rows[row].prefix(column))
      rows[row].append(scalar)
      column = rows[row].count
    }
  }

  private mutating func obey(_ sequence: String) {
    switch sequence.last {
    case "A":
      let up = Int(sequence.dropFirst().dropLast()) ?? 1
      // Lines that have scrolled out can't be reached.
      if up > row || up >= height { problems.append("up \(up) from \(row)") }
      row = max(0, row - up)
    case "J":
      rows[row] = Array(rows[row].prefix(column))
      rows.removeLast(rows.count - row - 1)
    case "m": break
    default: problems.append("sequence \(sequence)")
    }
  }
}
