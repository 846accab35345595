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

  @Test func `Lines keep their numbers, counting blank lines and comments`() {
    let lines = split([Array("a\n\n# c\r\nb\r\n".utf8)])
    #expect(lines == [url(1, "a"), url(4, "b")])
  }

  @Test func `The last line needs no line feed`() {
    #expect(split([Array("a\nb".utf8)]) == [url(1, "a"), url(2, "b")])
    #expect(split([Array("a\n".utf8)]) == [url(1, "a")])
    #expect(split([]).isEmpty)
  }

  @Test func `Pieces may end anywhere`() {
    let list = Array("\u{FEFF}http://a/1\r\n#x\n\nhttp://a/2".utf8)
    let whole = split([list])
    #expect(whole == [url(1, "http://a/1"), url(4, "http://a/2")])
    for cut in 0...list.count {
      #expect(split([Array(list[..<cut]), Array(list[cut...])]) == whole)
    }
    #expect(split(list.map { [$0] }) == whole)
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
