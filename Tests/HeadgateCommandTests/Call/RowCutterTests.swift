import HeadgateReport
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// Lists of rows, split into pieces in any way.
@Suite struct RowCutterTests {
  private func rows(_ bytes: [UInt8], _ cutter: any InputCutter<RawRow>, pieces size: Int) -> [String] {
    var (cutter, rows): (any InputCutter<RawRow>, [RawRow]) = (cutter, [])
    for start in stride(from: 0, to: bytes.count, by: size) {
      rows += cutter.cut(Array(bytes[start..<min(start + size, bytes.count)]))
    }
    rows += cutter.finish()
    return rows.map { row in
      switch row.value {
      case .success(let value): "\(row.line) \(value.text)"
      case .failure(let problem): "\(row.line) ! \(problem.message)"
      }
    }
  }

  private func check(_ text: String, _ cutter: any InputCutter<RawRow>, _ expected: [String]) {
    let bytes = Array(text.utf8)
    for size in [1, 2, 3, 7, 1 << 16] { #expect(rows(bytes, cutter, pieces: size) == expected, "pieces of \(size)") }
  }

  @Test func `NDJSON: one object per line`() {
    check("", NDJSONCutter(), [])
    check(
      "{\"a\":1}\n\n  \r\n{\"b\" : 2}\r\n[]\nx\n{\"c\":3}", NDJSONCutter(),
      [
        "1 {\"a\":1}", "4 {\"b\":2}", "5 ! it is an array; a row must be a JSON object",
        "6 ! it is not JSON: expected a value, at byte 1", "7 {\"c\":3}",
      ])
    check("\u{FEFF}{\"a\":1}\n", NDJSONCutter(), ["1 {\"a\":1}"])
  }

  @Test func `No row of a JSON array is read, and the error says how to convert it`() {
    let problem =
      "it begins a JSON array, so no row is read: one JSON object per line is needed; convert the list with "
    for text in ["[\n  {\"a\":1},\n  {\"b\":2}\n]\n{\"c\":3}\n", "[{\"a\":1},\n{\"b\":2}]", "[{\"a\":1}]\n{}"] {
      check(text, NDJSONCutter(), ["1 ! \(problem)jq -c '.[]'"])
      check("\n \t" + text, NDJSONCutter(), ["2 ! \(problem)jq -c '.[]'"])
    }
    check("\u{FEFF}[", NDJSONCutter(), ["1 ! \(problem)jq -c '.[]'"])
  }

  @Test func `A row that is too long is an error, and later rows are read`() {
    let long = [UInt8](repeating: UInt8(ascii: "1"), count: 2049)
    let bytes = long + Array("\n{\"a\":1}\n".utf8)
    #expect(rows(bytes, NDJSONCutter(longest: 2048), pieces: 1000) == ["1 ! it is longer than 2.0 KiB", "2 {\"a\":1}"])
    let csv = Array("a\n".utf8) + long + Array("\nx\n".utf8)
    #expect(rows(csv, CSVCutter(longest: 2048), pieces: 1000) == ["2 ! it is longer than 2.0 KiB", "3 {\"a\":\"x\"}"])
  }

  @Test func `CSV: names in the header, quoted values with commas, line feeds and quotation marks`() {
    check(
      "id,name\r\n1,Ada\r\n\r\n2,\"a,\"\"b\"\"\r\nc\"\n3,\n,\"\"", CSVCutter(),
      [
        #"2 {"id":"1","name":"Ada"}"#, #"4 {"id":"2","name":"a,\"b\"\r\nc"}"#, #"6 {"id":"3","name":""}"#,
        #"7 {"id":"","name":""}"#,
      ])
    check("a\n1\n", CSVCutter(), [#"2 {"a":"1"}"#])
    check("a", CSVCutter(), [])
    check("", CSVCutter(), [])
  }

  @Test func `Invalid CSV is an error of its row`() {
    check(
      "a,b\n1\n1,2,3\nx\"y,2\n\"x\"y,2\n1,2\n", CSVCutter(),
      [
        "2 ! it has 1 value, but the header has 2 names", "3 ! it has 3 values, but the header has 2 names",
        "4 ! a value that is not quoted contains a quotation mark", "5 ! text follows a quoted value",
        #"6 {"a":"1","b":"2"}"#,
      ])
    check("a\n1,2\n", CSVCutter(), ["2 ! it has 2 values, but the header has 1 name"])
    check("a\n\"1\n2\n", CSVCutter(), ["2 ! a quoted value is not closed"])
    check(
      "a,a\n1,2\n3,4\n", CSVCutter(),
      ["1 ! the header is invalid, so no row can be read: a name occurs twice in the header"])
    #expect(rows(Array("a\n".utf8) + [0xFF, 0x0A], CSVCutter(), pieces: 9) == ["2 ! it is not UTF-8"])
    check("\u{FEFF}\"a\"\n1\n", CSVCutter(), [#"2 {"a":"1"}"#])
    check("\u{FEFF}a,\u{FEFF}\n\u{FEFF},2\n", CSVCutter(), ["2 {\"a\":\"\\ufeff\",\"\\ufeff\":\"2\"}"])
    check("\u{FEFF}", CSVCutter(), [])
  }

  @Test func `A carriage return in CSV ends a line together with a line feed only`() {
    let problem = "a carriage return is not followed by a line feed"
    check(
      "id,name\r1,Ada\r2,Bob\r", CSVCutter(),
      ["1 ! the header is invalid, so no row can be read: \(problem)"])
    check("a\n\"a\"\r\"b\"\n1\n", CSVCutter(), ["2 ! \(problem)", #"3 {"a":"1"}"#])
    check(
      "a,b\n1,x\r\r\n\r,2\n\r1,2\n3,\r\n", CSVCutter(),
      ["2 ! \(problem)", "3 ! \(problem)", "4 ! \(problem)", #"5 {"a":"3","b":""}"#])
    check("a\r\n\"\"\r\n\r\n1\r", CSVCutter(), [#"2 {"a":""}"#, #"4 {"a":"1"}"#])
  }

  @Test func `Any table that is written as CSV is read back unchanged`() {
    var random = SeededRandom(seed: 3)
    let parts = ["a", "\"", ",", "\n", "\r\n", " ", "é", "1", ""]
    for _ in 0..<300 {
      let columns = Int.random(in: 1...4, using: &random)
      let table = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        (0..<columns).map { _ in
          (0..<Int.random(in: 0...3, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
        }
      }
      let header = (0..<columns).map { "c\($0)" }
      let lines = ([header] + table).map { row in
        row.map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }.joined(separator: ",")
      }
      let bytes = Array(lines.joined(separator: Bool.random(using: &random) ? "\n" : "\r\n").utf8)
      let size = Int.random(in: 1...9, using: &random)
      let read = rows(bytes, CSVCutter(), pieces: size).map { $0.drop { $0 != " " }.dropFirst() }
      let expected = table.map { row in
        JSONValue.object(zip(header, row).map { JSONMember(name: $0, value: .string($1)) }).text
      }
      #expect(read.map(String.init) == expected)
    }
  }

  @Test func `Randomly modified lists never trap`() {
    var random = SeededRandom(seed: 11)
    let seed = Array("id,name\n1,\"a\"\"b\"\n{\"a\":[1,2]}\n\u{FEFF}\n\"\r\n".utf8)
    for _ in 0..<500 {
      var bytes = seed
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let size = Int.random(in: 1...bytes.count, using: &random)
      #expect(rows(bytes, CSVCutter(), pieces: size) == rows(bytes, CSVCutter(), pieces: 1 << 16))
      #expect(rows(bytes, NDJSONCutter(), pieces: size) == rows(bytes, NDJSONCutter(), pieces: 1 << 16))
    }
  }
}
