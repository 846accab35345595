import HeadgateTesting

/// Almost valid responses: well-formed ones, changed at random.
struct MutatedResponses {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// The next response: one of the models with one to four changes.
  mutating func next() -> [UInt8] {
    var bytes = Self.models.randomElement(using: &random) ?? []
    for _ in 0..<Int.random(in: 0...4, using: &random) { change(&bytes) }
    return bytes
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    let place = Int.random(in: 0...bytes.count, using: &random)
    let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
    switch Int.random(in: 0..<8, using: &random) {
    case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
    case 2: bytes.removeSubrange(place..<end)
    case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
    case 4: bytes.removeSubrange(place...)
    case 5: bytes += Self.models.randomElement(using: &random) ?? []
    // The ends of lines, most of all after the status line.
    case 6:
      let ends = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.prefix(12)
      let start = (ends.randomElement(using: &random) ?? -1) + 1
      bytes.insert(contentsOf: (Self.pieces.randomElement(using: &random) ?? "").utf8, at: start)
    default: bytes.insert(contentsOf: (Self.pieces.randomElement(using: &random) ?? "").utf8, at: place)
    }
  }

  private static let pieces = [
    " folded: x\r\n", "\tfolded\r\n", " \r\n", "\r\n", "\n", "\r", "\0", "\r\n\r\n", "Content-Length: 5\r\n",
    "Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n", "Content-Encoding: gzip\r\n", "Content-Encoding: gzip, gzip\r\n",
    "Connection: close\r\n", "Connection: upgrade\r\nUpgrade: h2c\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\n folded: x\r\n", "HTTP/2 200\r\n",
    "HTTP/0.9 200\r\n",
    "ffffffffffffffff\r\n", "0\r\n\r\n", "Location: //[::1\r\n", "Set-Cookie: a=b\r\n", "WWW-Authenticate: Basic\r\n",
    ": x\r\n",
    "Retry-After: 99999999999999999999\r\n", "Trailer: x\r\n",
  ]

  private static let models: [[UInt8]] = {
    func text(_ parts: String...) -> [UInt8] { Array(parts.joined(separator: "\r\n").utf8) }
    let gzip: [UInt8] =
      [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8)
      + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]
    return [
      text("HTTP/1.1 200 OK", "Content-Length: 5", "X-A: b", "", "hello"),
      text("HTTP/1.1 200 OK", "X-A: one", " two", "\tthree", "Content-Length: 5", "", "hello"),
      text("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "5", "hello", "3;x=y", "abc", "0", "X-T: u", "", ""),
      text("HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "Content-Length: 2", "", "ok"),
      text("HTTP/1.0 200 OK", "Content-Type: text/plain", "", "until the end"),
      text("HTTP/1.1 204 No Content", "X-A: b", "", ""),
      text("HTTP/1.1 302 Found", "Location: /there", "Content-Length: 0", "", ""),
      text("HTTP/1.1 401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"", "Content-Length: 0", "", ""),
      text("HTTP/1.1 200 OK", "Content-Encoding: gzip", "Content-Length: \(gzip.count)", "", "") + gzip,
      text("HTTP/1.1 200 OK", "Content-Encoding: gzip", "Transfer-Encoding: chunked", "", "1c", "") + gzip
        + text("", "0", "", ""),
      text("HTTP/1.1 200 OK", "X-Long: " + String(repeating: "a", count: 9000), "Content-Length: 2", "", "ok"),
    ]
  }()
}
