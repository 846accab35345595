import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// A body line by line.
@Suite struct BodyLinesTests {
  private func lines(_ pieces: [[UInt8]], maxLineBytes: Int = 100) async throws -> [String] {
    let transport = ScriptedTransport { exchange in
      exchange.head(200)
      for piece in pieces { exchange.body(piece) }
      exchange.end()
    }
    let bench = try Bench(transport: transport)
    let body = try await bench.dispatcher.stream(for: bench.request()).body
    var lines: [String] = []
    for try await line in body.lines(maxLineBytes: maxLineBytes) { lines.append(line) }
    return lines
  }

  private func lines(_ text: String) async throws -> [String] { try await lines([Array(text.utf8)]) }

  @Test("lines end with CR LF, LF or CR, and the last one with the body")
  func ends() async throws {
    #expect(try await lines("a\nb\r\nc\rd") == ["a", "b", "c", "d"])
    #expect(try await lines("a\n\n\r\n\rb\n") == ["a", "", "", "", "b"])
    #expect(try await lines("") == [])
    #expect(try await lines("\n") == [""])
  }

  @Test("a byte order mark at the start is skipped, and invalid UTF-8 becomes U+FFFD")
  func letters() async throws {
    #expect(try await lines("\u{FEFF}a\n\u{FEFF}b") == ["a", "\u{FEFF}b"])
    #expect(try await lines("\u{FEFF}") == [])
    #expect(try await lines([[0x61, 0xFF, 0x0A, 0xC3], [0xB6]]) == ["a\u{FFFD}", "ö"])
  }

  @Test("the lines do not depend on how the bytes are split into pieces")
  func splits() async throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<200 {
      let text = (0..<Int.random(in: 0...30, using: &random))
        .map { _ in ["a", "ö", "\n", "\r", "\r\n"].randomElement(using: &random) ?? "" }.joined()
      let whole = try await lines(text)
      var rest = Array(text.utf8)[...]
      var pieces: [[UInt8]] = []
      while !rest.isEmpty {
        pieces.append(Array(rest.prefix(Int.random(in: 1...3, using: &random))))
        rest = rest.dropFirst(pieces.last?.count ?? 0)
      }
      #expect(try await lines(pieces) == whole)
    }
  }

  @Test("a line may have the maximum length; a longer one fails the request")
  func bound() async throws {
    #expect(try await lines([[UInt8](repeating: 0x61, count: 100), [0x0A]]).map(\.count) == [100])
    let bench = try Bench()
    async let response = bench.dispatcher.stream(for: bench.request())
    let exchange = try await bench.transport.next()
    exchange.head(200)
    var iterator = try await response.body.lines(maxLineBytes: 100).makeAsyncIterator()
    exchange.body([0x61, 0x0A] + [UInt8](repeating: 0x61, count: 101))
    #expect(try await iterator.next() == "a")
    do throws(DispatchError) {
      _ = try await iterator.next(isolation: nil)
      Issue.record("the line was accepted")
    } catch {
      #expect(error.code == .lineTooLong && error.endPoint?.host == "a")
    }
    try await exchange.cancelled.wait()
    #expect(await bench.isCleanAtLast())
  }
}
