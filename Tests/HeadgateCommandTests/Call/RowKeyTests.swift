import HeadgateReport
import Testing

@testable import HeadgateCommand

/// The identity of rows.
@Suite struct RowKeyTests {
  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  @Test func `SHA-256 of the standard's examples`() {
    #expect(hex(SHA256.sum("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(hex(SHA256.sum([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      hex(SHA256.sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8))
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    // Around the lengths at which another block begins.
    let sums = (54...66).map { hex(SHA256.sum([UInt8](repeating: 0x61, count: $0))) }
    #expect(sums[10] == "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb")
    #expect(sums[1] == "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318")
    #expect(Set(sums).count == sums.count)
  }

  @Test func `A key consists of content, occurrence and session, and is read back from its text`() throws {
    let content = RowContent(.string("x"))
    let keys = [("a", 0), ("a", 1), ("b", 0)].map { RowKey(run: $0.0, content: content, occurrence: $0.1) }
    #expect(Set(keys).count == 3)
    #expect(RowKey(run: "a", content: RowContent(.string("y")), occurrence: 0) != keys[0])
    for key in keys { #expect(RowKey("\(key)") == key) }
    for bad in [
      "", "\(keys[0])0", String("\(keys[0])".dropLast()), String(repeating: "G", count: 32),
      "+" + String(repeating: "0", count: 31),
    ] {
      #expect(RowKey(bad) == nil)
    }
  }

  @Test func `An automatic key has the form of a random UUID`() throws {
    for occurrence in 0..<100 {
      let key = RowKey(run: "r", content: RowContent(.null), occurrence: occurrence).idempotencyKey
      #expect(
        key.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil, "\(key)")
    }
  }

  @Test func `Base64 of the standard's examples`() {
    let examples = [
      "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=", "foobar": "Zm9vYmFy",
    ]
    for (text, expected) in examples { #expect(ResponseBody.base64(Array(text.utf8)) == expected) }
    #expect(ResponseBody.base64([0xFF, 0xFE, 0xFB]) == "//77")
  }
}
