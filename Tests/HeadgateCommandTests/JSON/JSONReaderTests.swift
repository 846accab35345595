import Foundation
import HeadgateReport
import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// JSON from rows and servers.
@Suite struct JSONReaderTests {
  private func text(_ json: String) throws -> String { try JSONReader.read(Array(json.utf8)).text }

  private func reason(_ json: String) -> String? {
    do throws(JSONError) { _ = try JSONReader.read(Array(json.utf8)) } catch { return "\(error)" }
    return nil
  }

  @Test func `Values are read back unchanged, and numbers keep their text`() throws {
    #expect(
      try text(" { \"a\" : [ 1.0 , -0 , 1e400 , 12345678901234567890123 , 2E-7 ] ,\r\n\t\"b\":{}, \"\" : [ ] } ")
        == #"{"a":[1.0,-0,1e400,12345678901234567890123,2E-7],"b":{},"":[]}"#)
    for word in ["null", "true", "false", "0", "\"\""] { #expect(try text(word) == word) }
    #expect(try text(#""\u0041\/\b\f\n\r\t\\\" \uD83D\uDE00 ä""#) == #""A/\u0008\u000c\n\r\t\\\" 😀 ä""#)
    // Characters that could control a terminal or end a line are written as escapes, whatever their source.
    #expect(try text("\"\u{7F}\u{2028}\u{202E}\"") == #""\u007f\u2028\u202e""#)
  }

  @Test func `Invalid JSON is refused, with the position`() {
    #expect(reason("") == "a value is missing at the end, at byte 1")
    #expect(reason("{\"a\":1,}") == "expected a member name in quotation marks, at byte 8")
    #expect(reason("[1] x") == "there is more text after the value, at byte 5")
    let bad = [
      "[1,]", "[,]", "[1 2]", "{\"a\" 1}", "{a:1}", "{\"a\":}", "{", "[", "[1", "{\"a\":1", "\"", "\"\\", "\"\\x\"",
      "\"\\u12\"",
      "\"\\u12G4\"", "01", "1.", ".5", "-", "+1", "1e", "1e+", "0x1", "nul", "nulll", "True", "NaN", "'a'", "\u{FEFF}1",
      "\"a\nb\"", "\"a\tb\"", "1/**/", "{\"a\":1}{\"a\":1}", "\u{A0}1",
    ]
    for text in bad { #expect(reason(text) != nil, "\(text)") }
    #expect(throws: JSONError.self) { try JSONReader.read([UInt8(ascii: "\""), 0xFF, UInt8(ascii: "\"")]) }
    #expect(throws: JSONError.self) { try JSONReader.read([0x22, 0xED, 0xA0, 0x80, 0x22]) }
  }

  @Test func `JSON that parsers interpret differently is refused`() {
    #expect(reason(#"{"a":1,"a":2}"#) == "a name occurs twice in one object, at byte 8")
    #expect(reason(#"{"a":1,"\u0061":2}"#) != nil)
    for text in [#""\uD800""#, #""\uD800x""#, #""\uD800\n""#, #""\uD800\uD800""#, #""\uDC00""#] {
      #expect(reason(text)?.contains("unpaired surrogate") == true, "\(text)")
    }
    // Different spellings of one character are different names.
    #expect(reason("{\"\u{E9}\":1,\"e\u{301}\":2}") == nil)
    let many = (0..<1000).map { "\"\($0)\":0" }.joined(separator: ",")
    #expect(reason("{\(many)}") == nil)
    #expect(reason("{\(many),\"500\":0}") != nil)
  }

  @Test func `Nesting has a limit, and deeper nesting uses no stack`() {
    let deepest = JSONReader.deepest
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(reason(nested(deepest)) == nil)
    #expect(reason(nested(deepest + 1)) != nil)
    #expect(reason(String(repeating: "{\"a\":", count: 200_000)) != nil)
    #expect(reason(String(repeating: "[", count: 1_000_000)) != nil)
  }

  @Test func `Members are found by their bytes`() throws {
    let value = try JSONReader.read(Array("{\"\u{E9}\":1,\"b\":null}".utf8))
    #expect(value["\u{E9}"]?.text == "1")
    #expect(value["e\u{301}"] == nil)
    #expect(value["b"]?.text == "null")
    #expect(value["c"] == nil)
    #expect(JSONValue.null["a"] == nil)
  }

  @Test func `All spellings of a value have one text`() throws {
    let one = try JSONReader.read(Array(#"{ "b":[1, {"d":"\u0041","c":2}], "a":"x/" }"#.utf8))
    let other = try JSONReader.read(Array(#"{"a":"x\/","b":[1,{"c":2,"d":"A"}]}"#.utf8))
    #expect(one.canonicalText == other.canonicalText)
    #expect(one.text != other.text)
    let third = try JSONReader.read(Array(#"{"a":"x\/","b":[1.0,{"c":2,"d":"A"}]}"#.utf8))
    #expect(third.canonicalText != other.canonicalText)
  }

  /// `HEADGATE_MUTATIONS` texts, 3,000 by default.
  @Test
  func `Randomly modified texts never trap; accepted ones are read back from their output, also by other parsers`() {
    let environment = ProcessInfo.processInfo.environment
    let count = environment["HEADGATE_MUTATIONS"].flatMap { Int($0) } ?? 3000
    var random = SeededRandom(seed: environment["HEADGATE_SEED"].flatMap { UInt64($0) } ?? 20)
    let seeds = [
      #"{"id":17,"name":"Ada \"x\" \u00e9\uD83D\uDE00","list":[1,2.5e3,-0.1,null,true,false],"o":{"p":{"q":[[]]}}}"#,
      #"[{"a":1},{"a":2},{"b":"\\\/\b\f\n\r\t"}]"#, "\"ä€😀\"", "-12.50E+7", #"{"a":{"a":{"a":{"a":[1,[2,[3]]]}}}}"#,
    ].map { Array($0.utf8) }
    let pieces = [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d800", "1", "-", ".", "e", "null", " ", "\u{0}", "a", "é",
    ]
    var accepted = 0
    for number in 0..<count {
      var bytes = seeds[number % seeds.count]
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes.insert(contentsOf: Array(pieces.randomElement(using: &random)!.utf8), at: place)
        case 1 where place < bytes.count: bytes.remove(at: place)
        case 2 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 3: bytes.insert(contentsOf: seeds.randomElement(using: &random)!, at: place)
        default: bytes.removeLast(min(bytes.count, Int.random(in: 0...3, using: &random)))
        }
      }
      guard let value = try? JSONReader.read(bytes) else { continue }
      accepted += 1
      let again = try? JSONReader.read(Array(value.text.utf8))
      #expect(again?.text == value.text && again?.canonicalText == value.canonicalText)
      // Foundation rejects only numbers beyond its range.
      guard value.text.firstMatch(of: /[0-9][eE][+-]?[0-9]{3}/) == nil else { continue }
      #expect(
        (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil, "\(value.text)")
    }
    #expect(accepted > count / 20)
  }
}
