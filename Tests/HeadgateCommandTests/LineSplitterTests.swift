import Testing

@testable import HeadgateCommand

@Suite struct LineSplitterTests {
  private func split(_ pieces: [[UInt8]]) -> [NumberedLine] {
    var splitter = LineSplitter()
    var lines: [NumberedLine] = []
    for piece in pieces { lines += splitter.cut(Array(piece)) }
    return lines + splitter.finish()
  }

  private func url(_ number: Int, _ text: String) -> NumberedLine { NumberedLine(number: number, line: .url(text)) }

  @Test func `Lines keep their numbers, counting blank lines and comments, and pieces may end anywhere`() {
    // The last line needs no line feed.
    let lists = [
      ("\u{FEFF}http://a/1\r\n#x\n\nhttp://a/2", [url(1, "http://a/1"), url(4, "http://a/2")]),
      ("a\n\n# c\r\nb\r\n", [url(1, "a"), url(4, "b")]), ("a\nb", [url(1, "a"), url(2, "b")]),
      ("a\n", [url(1, "a")]),
    ]
    for (text, lines) in lists {
      let list = Array(text.utf8)
      #expect(split([list]) == lines)
      for cut in 0...list.count { #expect(split([Array(list[..<cut]), Array(list[cut...])]) == lines) }
      #expect(split(list.map { [$0] }) == lines)
    }
    #expect(split([]).isEmpty)
  }

  @Test func `A byte order mark is recognized at the beginning only`() {
    #expect(split([Array("a\n\u{FEFF}b".utf8)]) == [url(1, "a"), url(2, "\u{FEFF}b")])
  }

  @Test func `An endless line is reported, and the next one is read`() {
    let long = [UInt8](repeating: UInt8(ascii: "x"), count: RawLines.longest + 1)
    for pieces in [[long + Array("\nb\n".utf8)], [long, long, Array("\nb\n".utf8)]] {
      let lines = split(pieces)
      #expect(lines.count == 2)
      guard case .bad(_, let reason)? = lines.first?.line else {
        Issue.record("it was taken")
        return
      }
      #expect(reason.contains("64 KiB"))
      #expect(lines.last == url(2, "b"))
    }
  }

  @Test func `A line of the maximum length is accepted`() {
    let long = [UInt8](repeating: UInt8(ascii: "x"), count: RawLines.longest)
    #expect(split([long + [UInt8(ascii: "\n")]]) == [url(1, String(decoding: long, as: UTF8.self))])
    #expect(split([long, [UInt8(ascii: "\n")]]) == [url(1, String(decoding: long, as: UTF8.self))])
  }
}
