import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// Parsing events: each rule of WHATWG HTML, section 9.2.6, and any split of the bytes against a parser of whole texts.
@Suite struct EventParserTests {
  private func parse(
    _ pieces: [[UInt8]], maxEventBytes: Int = 1000, id: String = ""
  ) throws(DispatchError) -> (events: [ServerSentEvent], parser: EventParser) {
    var parser = EventParser(maxEventBytes: maxEventBytes, lastEventID: id)
    var events: [ServerSentEvent] = []
    for piece in pieces {
      parser.add(piece)
      while let event = try parser.next() { events.append(event) }
    }
    return (events, parser)
  }

  private func events(_ text: String) throws -> [ServerSentEvent] { try parse([Array(text.utf8)]).events }

  private func data(_ text: String) throws -> [String] { try events(text).map(\.data) }

  @Test("an event is its data; a blank line ends it")
  func plain() throws {
    #expect(try events("data: one\n\ndata:two\n\n") == [.init(data: "one"), .init(data: "two")])
  }

  @Test("lines of data are joined by line feeds, and one space after the colon is removed")
  func lines() throws {
    #expect(try data("data: a\ndata:  b\ndata:c \n\n") == ["a\n b\nc "])
    #expect(try data("data: a: b\n\n") == ["a: b"])
  }

  @Test("a field without a colon has an empty value: `data` alone is an empty line of data")
  func noColon() throws {
    #expect(try data("data\n\ndata\ndata\n\ndata:\n\n") == ["", "\n", ""])
  }

  @Test("lines end with CR LF, LF or CR, even mixed", arguments: ["\n", "\r", "\r\n"])
  func lineEnds(end: String) throws {
    #expect(try data("data: a\(end)data: b\(end)\(end)data: c\(end)\(end)") == ["a\nb", "c"])
    #expect(try data("data: a\r\ndata: b\rdata: c\n\r\n") == ["a\nb\nc"])
  }

  @Test("a CR at the end of a piece ends the line at once; an LF at the start of the next belongs to it")
  func returnAtTheEnd() throws {
    var parser = EventParser(maxEventBytes: 100)
    parser.add(Array("data: a\r".utf8))
    #expect(try parser.next() == nil)
    parser.add(Array("\n\r".utf8))
    #expect(try parser.next()?.data == "a")
    parser.add(Array("\ndata: b\r\r".utf8))
    #expect(try parser.next()?.data == "b")
  }

  @Test("a byte order mark before the first line is skipped, a second one belongs to the text")
  func byteOrderMark() throws {
    #expect(try data("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\ndata: c\n\n") == ["a", "c"])
    #expect(try data("\u{FEFF}\u{FEFF}data: a\n\n").isEmpty)
    #expect(try data("data: \u{FEFF}a\n\n") == ["\u{FEFF}a"])
  }

  @Test("a comment is ignored anywhere")
  func comments() throws {
    #expect(try data(": hello\n:\n\ndata: a\n:data: b\ndata: c\n\n:\n\n") == ["a\nc"])
  }

  @Test("the name is that of the `event` field, `message` without one, and applies to one event")
  func names() throws {
    let names = try events("event: x\ndata: 1\n\ndata: 2\n\nevent: x\nevent: y\ndata: 3\n\nevent:\ndata: 4\n\n").map(
      \.name)
    #expect(names == ["x", "message", "y", "message"])
  }

  @Test("without data there is no event, and the name is discarded")
  func noData() throws {
    #expect(try events("event: x\n\nid: 1\n\n\n\ndata: a\n\n") == [.init(data: "a", id: "1")])
  }

  @Test("an identifier applies to all following events; an empty one resets it")
  func identifiers() throws {
    let ids = try events("id: 1\ndata: a\n\ndata: b\n\nid: 2\nid: 3\ndata: c\n\nid\ndata: d\n\n").map(\.id)
    #expect(ids == ["1", "1", "3", ""])
  }

  @Test("an identifier with NUL is ignored")
  func identifierWithNull() throws {
    #expect(try events("id: 1\nid: 2\0\ndata: a\n\n").map(\.id) == ["1"])
  }

  @Test(
    "an identifier takes effect at a blank line, with data or not; until then that of an earlier connection applies"
  )
  func confirmedIdentifier() throws {
    #expect(try parse([Array("id: 7\n\nid: 8\ndata: x\n".utf8)]).parser.lastEventID == "7")
    let (events, parser) = try parse([Array("data: x\n\nid: 8\n".utf8)], id: "6")
    #expect((events.map(\.id), parser.lastEventID) == (["6"], "6"))
  }

  @Test("`retry` is accepted with ASCII digits only, and takes effect at once")
  func retry() throws {
    func time(_ text: String) throws -> Duration? { try parse([Array(text.utf8)]).parser.reconnectionTime }
    #expect(try time("retry: 1500\n") == .milliseconds(1500))
    #expect(
      try time("retry: 0\nretry: 5s\nretry: -1\nretry: +2\nretry: 1.5\nretry:\nretry\nretry:  7\nretry: ٣\n") == .zero)
    #expect(try time("retry: 99999999999999999999999\n") == .seconds(86400))
    #expect(try time("retry: 5") == nil)
  }

  @Test("field names are case-sensitive, and unknown ones are ignored")
  func fieldNames() throws {
    #expect(try data("Data: a\n data: b\ndata : c\nx: d\ndata: e\n\n") == ["e"])
  }

  @Test("an event that the end of the stream cuts off is discarded")
  func cutOff() throws {
    #expect(try data("data: a\n\ndata: b\n") == ["a"])
    #expect(try data("data: a\n\ndata: b") == ["a"])
    #expect(try data("").isEmpty)
  }

  @Test("invalid UTF-8 becomes U+FFFD, and a character split between two pieces stays whole")
  func letters() throws {
    #expect(try parse([Array("data: ".utf8) + [0xFF, 0x0A, 0x0A]]).events.map(\.data) == ["\u{FFFD}"])
    let bytes = Array("data: größer 🙂\n\n".utf8)
    #expect(try parse(bytes.map { [$0] }).events.map(\.data) == ["größer 🙂"])
  }

  @Test("a line and the data of an event may have the maximum size, and not a byte more")
  func bounds() throws {
    func code(_ text: String, _ pieceLength: Int) -> DispatchError.Code? {
      let bytes = Array(text.utf8)
      let pieces = stride(from: 0, to: bytes.count, by: pieceLength).map {
        Array(bytes[$0..<min($0 + pieceLength, bytes.count)])
      }
      do throws(DispatchError) { _ = try parse(pieces, maxEventBytes: 20) } catch { return error.code }
      return nil
    }
    for length in [1, 7, 1000] {
      #expect(code(":" + String(repeating: "x", count: 19) + "\n", length) == nil)
      #expect(code(":" + String(repeating: "x", count: 20) + "\n", length) == .eventTooLarge)
      #expect(code(String(repeating: "x", count: 21), length) == .eventTooLarge)
      #expect(code("data:\(String(repeating: "x", count: 15))\ndata:xxxx\n\n", length) == nil)
      #expect(code("data:\(String(repeating: "x", count: 15))\ndata:xxxxx\n\n", length) == .eventTooLarge)
      #expect(code(String(repeating: "data:0123456789\n\n: comment\n", count: 50), length) == nil)
    }
  }

  @Test("the events do not depend on how the bytes are split into pieces", arguments: 0..<8)
  func splits(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let parts: [[UInt8]] =
      [
        "\n", "\n", "\r", "\r\n", "\n\n", "data", "data:", "data: ", "event", "event:", "id", "id: ", "retry: ", ":",
        " ",
      ]
      .map { Array($0.utf8) }
      + ["x", "1", "22", "é", "🙂", "\u{FEFF}", "\0", "data: a\n\n", "id: 1\n", "event: e\n"].map { Array($0.utf8) }
      + [[0xFF], [0xC3], [0xF0, 0x9F]]
    for _ in 0..<3000 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).flatMap { _ in parts.randomElement(using: &random) ?? []
      }
      var pieces: [[UInt8]] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 0...6, using: &random))
        pieces.append(Array(piece))
        rest = rest.dropFirst(piece.count)
      }
      let (events, parser) = try parse(pieces)
      let whole = WholeText(bytes)
      guard events == whole.events, parser.lastEventID == whole.lastEventID, parser.reconnectionTime == whole.retry
      else {
        Issue.record("seed \(seed): \(pieces) gives \(events), as a whole \(whole.events)")
        return
      }
    }
  }
}

/// The same rules for a whole text at once, in the words of the specification.
private struct WholeText {
  private(set) var events: [ServerSentEvent] = []
  private(set) var lastEventID = ""
  private(set) var retry: Duration?

  init(_ bytes: [UInt8]) {
    var text = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
    if text.first == "\u{FEFF}" { text.removeFirst() }
    var lines: [String] = []
    var line = String.UnicodeScalarView()
    for (index, scalar) in text.enumerated() {
      if scalar == "\n", index > 0, text[index - 1] == "\r" { continue }
      if scalar == "\n" || scalar == "\r" {
        lines.append(String(line))
        line = String.UnicodeScalarView()
      } else {
        line.append(scalar)
      }
    }
    var (data, name, id) = ("", "", "")
    for line in lines {
      guard !line.isEmpty else {
        lastEventID = id
        if !data.isEmpty {
          data.unicodeScalars.removeLast()
          events.append(ServerSentEvent(data: data, name: name.isEmpty ? "message" : name, id: id))
        }
        (data, name) = ("", "")
        continue
      }
      let scalars = line.unicodeScalars
      let colon = scalars.firstIndex(of: ":") ?? scalars.endIndex
      let field = String(scalars[..<colon])
      var value = scalars[colon...].dropFirst()
      if value.first == " " { value = value.dropFirst() }
      switch field {
      case "data": data += String(value) + "\n"
      case "event": name = String(value)
      case "id" where !value.contains("\0"): id = String(value)
      case "retry" where !value.isEmpty && value.allSatisfy { ("0"..."9").contains($0) }:
        retry = min(.milliseconds(Int64(String(value)) ?? .max), .seconds(86400))
      default: break
      }
    }
  }
}
