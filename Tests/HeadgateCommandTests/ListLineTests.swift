import Testing

@testable import HeadgateCommand

@Suite struct ListLineTests {
  private func line(_ text: String) -> ListLine { ListLine(Array(text.utf8)) }

  @Test func `White space around a URL is removed`() {
    #expect(line("http://a/b") == .url("http://a/b"))
    #expect(line("  http://a/b\t\r") == .url("http://a/b"))
  }

  @Test func `Blank lines and comments are ignored`() {
    for text in ["", "   ", "\t\r", "# comment", "  # comment"] { #expect(line(text) == .nothing) }
  }

  @Test func `A fragment is not a comment`() {
    #expect(line("http://a/b#c") == .url("http://a/b#c"))
  }

  @Test func `A comment after a URL is reported, and does not become a part of it`() {
    for text in ["http://a/b # see docs", "http://a/b\t# see docs", "http://a/b#c #d"] {
      guard case .bad(_, let reason) = line(text) else {
        Issue.record("it was taken: \(text)")
        continue
      }
      #expect(reason.hasPrefix("a comment must be a line of its own"))
    }
  }

  @Test func `Invalid UTF-8 is reported and not repaired`() {
    guard case .bad(let text, let reason) = ListLine([0x68, 0xFF, 0xFE]) else {
      Issue.record("it was taken")
      return
    }
    #expect(text == "h\u{FFFD}\u{FFFD}")
    #expect(reason.contains("UTF-8"))
  }

  @Test func `Control characters are reported and not shown`() {
    #expect(line("http://a/\u{1B}[31m") == .bad("http://a/\\u{1B}[31m", reason: "it contains control characters"))
    #expect(line("http://a/\u{0}b") == .bad("http://a/\\u{0}b", reason: "it contains control characters"))
  }

  @Test(arguments: [10, 59, 60, 61, 1000])
  func `A line that is not read is shown with one ellipsis`(count: Int) {
    let text = String(repeating: "x", count: count)
    let expected = String(text.prefix(60)) + "\u{2026}"
    #expect(ListLine(tooLong: Array(text.utf8), reason: "why") == .bad(expected, reason: "why"))
  }

  @Test func `A long line is shown in part`() {
    guard case .bad(let text, _) = line("\u{1}" + String(repeating: "x", count: 1000)) else {
      Issue.record("it was taken")
      return
    }
    #expect(text.count == ListLine.mostShown + 1)
    #expect(text.hasPrefix("\\u{1}xx") && text.hasSuffix("x\u{2026}"))
  }
}
