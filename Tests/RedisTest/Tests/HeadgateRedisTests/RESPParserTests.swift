import HeadgateTesting
import Testing

@testable import HeadgateRedis

@Suite struct RESPParserTests {
  private static let wire =
    "+OK\r\n-ERR no\r\n:-12\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n$0\r\n\r\n*1\r\n:7\r\n"
  private static let values: [RESPValue] = [
    .simple("OK"), .error("ERR no"), .integer(-12), .bulk(Array("a\r\nbc".utf8)), .null, .null, .array([]),
    .array([.bulk([]), .array([.integer(7)])]),
  ]

  private func parse(_ parts: [ArraySlice<UInt8>]) throws -> [RESPValue] {
    var parser = RESPParser()
    var found: [RESPValue] = []
    for part in parts {
      parser.append(part)
      while let value = try parser.next() { found.append(value) }
    }
    return found
  }

  @Test("Replies are the same wherever their bytes are split")
  func split() throws {
    let bytes = Array(Self.wire.utf8)
    for place in 0...bytes.count { #expect(try parse([bytes[..<place], bytes[place...]]) == Self.values) }
    #expect(try parse(bytes.indices.map { bytes[$0...$0] }) == Self.values)
  }

  @Test(
    "Lengths that are negative, too large or no numbers are refused",
    arguments: [
      "$-2\r\n", "$9223372036854775808\r\n", "$99999999999\r\n", "*-2\r\n", "*1048577\r\n", "*18446744073709551616\r\n",
      "$\r\n", "$+1\r\n", ":1x\r\n", ":\r\n", "$ 1\r\n", "?\r\n", "\r\n", "+OK\n", "$1\r\nabc",
    ])
  func refused(wire: String) {
    var parser = RESPParser()
    parser.append(wire.utf8)
    #expect(throws: RESPParser.Failure.self) { while try parser.next() != nil {} }
  }

  @Test("Depth, the sum of elements and the length of a line are bounded")
  func bounds() {
    for (wire, failure) in [
      (String(repeating: "*1\r\n", count: 9), RESPParser.Failure.tooDeep),
      ("*2\r\n*1048575\r\n", .tooLong), ("+" + String(repeating: "x", count: 70_000), .tooLong),
    ] {
      var parser = RESPParser()
      parser.append(wire.utf8)
      #expect(throws: failure) { _ = try parser.next() }
    }
  }

  @Test("Random replies come back as they were written, in random portions", arguments: 0..<200)
  func random(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let values = (0..<5).map { _ in value(&random, 0) }
    let bytes = values.flatMap { encoded($0) }
    var parts: [ArraySlice<UInt8>] = []
    var place = 0
    while place < bytes.count {
      let next = min(bytes.count, place + Int.random(in: 1...20, using: &random))
      parts.append(bytes[place..<next])
      place = next
    }
    #expect(try parse(parts) == values)
  }

  @Test("Bytes that were changed at random are parsed or refused", arguments: 0..<500)
  func mutated(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var bytes = Array(Self.wire.utf8)
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    let whole = Result { try parse([bytes[...]]) }.mapError { _ in RESPParser.Failure.badNumber }
    let split = Result { try parse(bytes.indices.map { bytes[$0...$0] }) }.mapError { _ in RESPParser.Failure.badNumber
    }
    #expect((try? whole.get()) == (try? split.get()))
  }

  @Test("A command is an array of bulk strings")
  func command() {
    #expect(
      String(decoding: RESPCommand.encode(["SET", "a", "é"]), as: UTF8.self)
        == "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\né\r\n")
  }

  private func value(_ random: inout SeededRandom, _ depth: Int) -> RESPValue {
    switch Int.random(in: 0..<(depth < 4 ? 6 : 5), using: &random) {
    case 0: .simple("s\(UInt8.random(in: 0...255, using: &random))")
    case 1: .error("ERR")
    case 2: .integer(.random(in: .min ... .max, using: &random))
    case 3: .bulk((0..<Int.random(in: 0...40, using: &random)).map { _ in .random(in: 0...255, using: &random) })
    case 4: .null
    default: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(&random, depth + 1) })
    }
  }

  private func encoded(_ value: RESPValue) -> [UInt8] {
    switch value {
    case .simple(let text): Array("+\(text)\r\n".utf8)
    case .error(let text): Array("-\(text)\r\n".utf8)
    case .integer(let number): Array(":\(number)\r\n".utf8)
    case .bulk(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8)
    case .null: Array("$-1\r\n".utf8)
    case .array(let elements): Array("*\(elements.count)\r\n".utf8) + elements.flatMap { encoded($0) }
    }
  }
}
