import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import Testing

@Suite struct HeaderBlockTests {
  private func head(_ text: String) -> ResponseHead { ResponseHead(statusCode: 200, block: Array(text.utf8)) }

  private func pairs(_ text: String) -> [String] { head(text).headerFields.map { "\($0.name.rawName)=\($0.value)" } }

  @Test(
    "Lines end in CRLF or LF, with or without a status line before and an empty line after",
    arguments: [
      "HTTP/1.1 200 OK\r\nServer: a b\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 200 OK\nServer: a b\nContent-Length: 5\n\n",
      "Server: a b\r\nContent-Length: 5", "HTTP/2 200\r\nServer:a b\r\nContent-Length:\t 5 \t\r\n\r\n",
      "HTTP/1.1 200 Fine: really\r\nServer: a b\r\n\r\nContent-Length: 5\r\n",
    ]
  )
  func lines(block: String) {
    #expect(pairs(block) == ["Server=a b", "Content-Length=5"])
    #expect(head(block)[.server] == "a b")
    #expect(head(block)[.contentLength] == "5")
    #expect(head(block)[.location] == nil)
  }

  @Test("Names match in any case, and as a whole")
  func names() throws {
    let head = head("cOnTent-LENGTH: 5\r\nX-Content-Length: 6\r\nContent-Lengths: 7\r\n")
    #expect(head[.contentLength] == "5")
    #expect(head.headerFields[.contentLength] == "5")
    #expect(head[try #require(HTTPField.Name("x-content-length"))] == "6")
    // Differs from a letter by the bit that encodes case.
    #expect(self.head("^ame: x\r\n")[try #require(HTTPField.Name("~ame"))] == nil)
  }

  @Test("Several fields of one name are joined by a comma, in their order")
  func severalOfOneName() {
    let block = "Via: a\r\nServer: s\r\nvia: b, c\r\nVIA:\r\n"
    #expect(head(block)[.via] == "a, b, c, ")
    #expect(head(block)[.via] == head(block).headerFields[.via])
    #expect(head(block).headerFields[values: .via] == ["a", "b, c", ""])
  }

  @Test("A value keeps its inner spaces and colons, and may be empty")
  func values() {
    #expect(
      pairs("Location: http://h:80/a  b\r\nServer:\r\nVia:   \r\n") == ["Location=http://h:80/a  b", "Server=", "Via="]
    )
    #expect(head("Server:\r\n")[.server] == "")
  }

  @Test(
    "A line that is not a field is skipped, the others stay",
    arguments: [
      "no colon here", ": no name", "Server : space before the colon", " Server: continued", "\tServer: continued",
      "Ser ver: space inside", "", "\r", ":", "\u{0}Server: zero",
    ]
  )
  func broken(line: String) {
    let block = "Via: a\r\n\(line)\r\nAge: 1\r\n"
    #expect(pairs(block) == ["Via=a", "Age=1"])
    #expect(head(block)[.server] == nil)
    #expect(head(block)[.age] == "1")
  }

  @Test("An empty block has no fields")
  func empty() {
    #expect(pairs("").isEmpty)
    #expect(head("")[.server] == nil)
  }

  @Test("A lone carriage return or a zero in a value becomes a space: no value extends beyond its line")
  func loneControls() {
    let block = "Server: a\rVia: b\r\nLocation: c\0d\r\n"
    #expect(head(block)[.server] == "a Via: b")
    #expect(head(block)[.location] == "c d")
    #expect(head(block)[.via] == nil)
    #expect(pairs(block) == ["Server=a Via: b", "Location=c d"])
  }

  @Test("Invalid UTF-8 affects only its own character")
  func invalidText() {
    let head = ResponseHead(statusCode: 200, block: Array("Server: a".utf8) + [0xFF] + Array("b\r\nAge: 1\r\n".utf8))
    #expect(head[.server] == "a\u{FFFD}b")
    #expect(head[.age] == "1")
    #expect(head.headerFields.count == 2)
  }

  @Test("Looking up one field agrees with parsing all fields", arguments: 1...20 as ClosedRange<UInt64>)
  func oneOrAll(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let pieces = [
      "Server", "server", "Via", "Age", ":", " ", "\t", "\r\n", "\n", "\r", "\0", "x", ", ", "=", "HTTP/1.1 200 OK\r\n",
    ]
    for _ in 0..<300 {
      let block = (0..<Int.random(in: 0..<30, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
      let head = head(block.joined())
      let fields = head.headerFields
      for name in [.server, .via, .age] as [HTTPField.Name] {
        #expect(head[name] == fields[name], "\(block.joined().debugDescription)")
      }
    }
  }

  @Test("A head from parsed fields returns them")
  func parsed() {
    let head = ResponseHead(statusCode: 404, headerFields: [.server: "a", .via: "b"])
    #expect(head.statusCode == 404)
    #expect(head.status == .notFound)
    #expect(head[.server] == "a")
    #expect(head.headerFields.count == 2)
  }
}
