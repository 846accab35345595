import HeadgateReport
import Testing

@testable import HeadgateCommand

/// The identity of rows.
@Suite struct RowKeyTests {
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
