import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The text of a line of the log, put together as bytes.
@Suite struct LineTextTests {
  @Test(
    "a line has its pieces one after the other, however long they are", arguments: [0, 1, 255, 503, 504, 505, 2000])
  func pieces(length: Int) {
    let long = String(repeating: "ä", count: length / 2) + String(repeating: "x", count: length % 2)
    let line = LineText.make { text in
      text.add(words: "begins ")
      text.add(long)
      text.add(words: "é")
      text.add(17)
      text.add("日本")
    }
    #expect(line == "begins \(long)é17日本")
    #expect(LineText.make { _ in } == "")
  }

  @Test(
    "a number has all its digits",
    arguments: [0, 7, 9, 10, 99, 100, 65535, 1_000_000, -1, -40, Int.max, Int.min])
  func number(_ number: Int) {
    #expect(LineText.make { $0.add(number) } == "\(number)")
  }

  @Test(
    "a URL ends before its query",
    arguments: [
      ("http://a/b", "http://a/b"), ("http://a/b?", "http://a/b"), ("http://a/?c=d?e", "http://a/"), ("", ""),
      ("?", ""),
    ])
  func url(url: String, shown: String) {
    #expect(LineText.make { $0.add(url: url) } == shown)
  }

  @Test(
    "an end-point is written as it describes itself",
    arguments: ["http://a:81/", "https://b/", "http://[fe80::1]:8080/"])
  func endPoint(url: String) throws {
    let endPoint = try EndPoint(url)
    #expect(LineText.make { $0.add(endPoint) } == endPoint.description)
  }

  @Test("the end-point of a socket is written as it describes itself")
  func socket() throws {
    let endPoint = try EndPoint(unixSocket: "/run/x:y.sock")
    #expect(LineText.make { $0.add(endPoint) } == "unix:/run/x:y.sock")
  }

  @Test("times are written in the words of a duration, to the millisecond that was measured")
  func times() {
    func words(_ nanoseconds: Int64) -> String { LineText.make { $0.add(.nanoseconds(nanoseconds)) } }
    #expect(words(0) == "0 ms")
    #expect(words(999_999_999) == "999 ms")
    #expect(words(1_000_000_000) == "1.0 s")
    #expect(words(61_999_999_999) == "61.9 s")
    #expect(words(.max) == Duration.nanoseconds(Int64.max).words)
    // As seconds in binary some of these are a little less.
    for milliseconds in 0..<Int64(1000) { #expect(words(milliseconds * 1_000_000) == "\(milliseconds) ms") }
  }
}
