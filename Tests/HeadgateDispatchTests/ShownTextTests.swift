import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Text from outside is shown without effects.
@Suite struct ShownTextTests {
  @Test(
    "control characters, line separators, bidirectional controls and invisible characters are shown as escapes",
    arguments: [
      ("a\u{1B}[2Jb", "a\\u{1B}[2Jb"), ("a\r\nb\tc", "a\\u{D}\\u{A}b\\u{9}c"),
      ("\0\u{7F}\u{9B}", "\\u{0}\\u{7F}\\u{9B}"),
      ("\u{61C}\u{200E}\u{200F}", "\\u{61C}\\u{200E}\\u{200F}"),
      ("\u{202A}\u{202E}\u{2066}\u{2069}", "\\u{202A}\\u{202E}\\u{2066}\\u{2069}"),
      ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
      ("a\u{200B}\u{200D}\u{2060}\u{FEFF}\u{AD}b", "a\\u{200B}\\u{200D}\\u{2060}\\u{FEFF}\\u{AD}b"),
      ("\u{E0041}\u{3164}\u{34F}", "\\u{E0041}\\u{3164}\\u{34F}"),
    ])
  func escapes(text: String, shown: String) {
    #expect(ShownText.of(text) == shown)
    // Escaping twice changes nothing.
    #expect(ShownText.of(shown) == shown)
  }

  @Test(
    "ordinary text is unchanged",
    arguments: ["", "GET /x?y=%20 \\u{1B} ~", "B\u{FC}cher \u{4F8B}\u{1F600} \u{627}"])
  func plain(text: String) { #expect(ShownText.of(text) == text) }

  @Test("an endless text is cut, once and for all")
  func cut() {
    let long = String(repeating: "x", count: 10_000)
    let shown = ShownText.of(long)
    #expect(shown == String(repeating: "x", count: ShownText.most) + "\u{2026}")
    #expect(ShownText.of(shown) == shown)
    #expect(ShownText.of("abc", atMost: 2) == "ab\u{2026}")
    #expect(ShownText.of("a\u{1B}", atMost: 3) == "a\\u\u{2026}")
  }

  @Test(
    "a URL is shown without its password, valid or not",
    arguments: [
      ("http://h/a@b", "http://h/a@b"), ("http://user:secret@h/x", "http://user:***@h/x"),
      ("http://secret@h/x", "http://***@h/x"), ("http://u:se@cret@h", "http://u:***@h"), ("//u:secret@h", "//u:***@h"),
      ("u:secret@h", "u:***@h"), ("http://u:sec/ret@h/", "http://u:***@h/"),
      ("http://u:sec#ret@h:8/", "http://u:***@h:8/"),
      ("http://u:@h?a@b", "http://u:***@h?a@b"), ("http://h:80/a@b", "http://h:80/a@b"),
      ("http://[::1]/a@b", "http://[::1]/a@b"), ("http://u:secret@h:x/", "http://u:***@h:x/"),
      ("http:/u:secret@h/", "http:/u:***@h/"), ("https:///u:secret@h/", "https:///u:***@h/"),
      ("u:secret@h//x", "u:***@h//x"), ("u:secret@h/?u=http://x", "u:***@h/?u=http://x"),
      ("http://u:secret@\u{301}h/", "http://u:***@\u{301}h/"),
      ("secret@h://x", "***@h://x"), ("u:secret@h:/[x:y", "u:***@h:/[x:y"), ("@:/:x", "***@:/:x"),
    ])
  func passwords(url: String, shown: String) { #expect(ShownText.withoutPassword(url) == shown) }

  @Test("the detail of an error is escaped text from every source, and stays so")
  func detail() {
    let error = DispatchError(.badResponse, detail: "Server: \u{1B}]0;owned\u{7}\n")
    #expect(error.detail == "Server: \\u{1B}]0;owned\\u{7}\\u{A}")
    #expect(error.at(nil).detail == error.detail)
    #expect(!error.description.utf8.contains(0x1B))
  }

  @Test("no control character and no password of a URL gets into an error")
  func invalidURLs() throws {
    for url in [
      "ht\u{1B}tp://user:secret@h/", "http://user:secret@h:x\u{1B}/", "http://user:secret@a b\u{202E}/",
      "//user:secret@\u{7}",
    ] {
      let error = #expect(throws: DispatchError.self) { try DispatchRequest(url) }
      let text = "\(try #require(error)) \(error?.underlyingError.map { "\($0)" } ?? "")"
      #expect(!text.contains("secret"), "\(text)")
      #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x202E }, "\(text)")
      let other = #expect(throws: EndPointError.self) { try EndPoint(url) }
      #expect(other?.text.contains("secret") == false)
    }
  }

  @Test("displayed paths are escaped: of a socket, of a file")
  func paths() throws {
    #expect(try EndPoint(unixSocket: "/run/\u{1B}x").description == "unix:/run/\\u{1B}x")
    let error = #expect(throws: LimitError.self) { try HostPattern("\u{1B}[2J:1") }
    #expect(error?.description.contains("\\u{1B}[2J") == true)
    #expect(RequestBodyError(.notAFile, path: "/\u{1B}").description.contains("\\u{1B}"))
  }
}
