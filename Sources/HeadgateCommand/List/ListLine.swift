import HeadgateDispatch

/// What one line of a list says.
enum ListLine: Equatable, Sendable {
  /// A URL, not yet looked at more closely.
  case url(String)
  /// Blank, or a comment.
  case nothing
  /// Neither; the beginning of the text in a form that can be shown, without its password.
  case bad(String, reason: String)

  /// Reads a line without its line feed. White space around it doesn't count, nor does a carriage return at its end.
  init(_ bytes: some BidirectionalCollection<UInt8>) {
    let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
    let start = bytes.firstIndex { !isSpace($0) } ?? bytes.endIndex
    var end = bytes.endIndex
    while end > start, isSpace(bytes[bytes.index(before: end)]) { end = bytes.index(before: end) }
    let trimmed = bytes[start..<end]

    guard let first = trimmed.first, first != UInt8(ascii: "#") else {
      self = .nothing
      return
    }
    guard let text = String(validating: trimmed, as: UTF8.self) else {
      self = .bad(ListLine.shown(String(decoding: trimmed, as: UTF8.self)), reason: "it is not UTF-8")
      return
    }
    guard !trimmed.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
      self = .bad(ListLine.shown(text), reason: "it has control characters in it")
      return
    }
    self = .url(text)
  }

  /// A line that is not read at all; its beginning is there.
  init(tooLong bytes: [UInt8], reason: String) {
    let shown = ListLine.shown(String(decoding: bytes, as: UTF8.self), atMost: 60)
    self = .bad(shown.hasSuffix("…") ? shown : shown + "…", reason: reason)
  }

  /// How much of a bad line is shown: a few lines of a terminal.
  static let mostShown = 200

  private static func shown(_ text: String, atMost most: Int = mostShown) -> String {
    ShownText.of(ShownText.withoutPassword(text), atMost: most)
  }
}
