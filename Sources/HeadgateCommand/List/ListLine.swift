import HeadgateDispatch

/// The meaning of one line of a list.
enum ListLine: Equatable, Sendable {
  /// A URL, not parsed yet.
  case url(String)
  /// URLs of one file, with its options.
  case entry(ListEntry)
  /// A blank line or a comment.
  case nothing
  /// An invalid line: the start of its text in a printable form, without passwords.
  case bad(String, reason: String)

  /// Reads a line with one URL, without its line feed.
  init(_ bytes: some BidirectionalCollection<UInt8>) {
    self.init(text: bytes)
    switch self {
    case .url(let text) where ListLine.hasComment(bytes): self = .bad(text, because: ListLine.aboutComments)
    case .bad(let text, _) where ListLine.hasComment(bytes): self = .bad(text, reason: ListLine.aboutComments)
    case .bad(let text, _) where bytes.contains(UInt8(ascii: "\t")):
      self = .bad(text, reason: "it contains tabs; for several URLs in a line give --list-format aria2")
    case .url(let text) where bytes.first != text.utf8.first && text.contains("=") && !text.contains("://"):
      self = .bad(text, because: "it is not a URL; for options in indented lines give --list-format aria2")
    default: break
    }
  }

  /// Reads a text without control characters. White space at both ends is ignored, carriage returns included.
  init(text bytes: some BidirectionalCollection<UInt8>) {
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
      self = .bad(
        ListLine.shown(String(decoding: trimmed, as: UTF8.self)), reason: "it is not UTF-8; save the list as UTF-8")
      return
    }
    guard !trimmed.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
      self = .bad(ListLine.shown(text), reason: "it contains control characters")
      return
    }
    self = .url(text)
  }

  private static let aboutComments = "a comment must be a line of its own; write a space in a URL as %20"

  /// Whether a comment seems to follow the URL, which would become a part of another URL.
  private static func hasComment(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
    guard bytes.contains(UInt8(ascii: "#")) else { return false }
    return zip(bytes, bytes.dropFirst()).contains { byte, next in
      (byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")) && next == UInt8(ascii: "#")
    }
  }

  /// A bad line with its text made safe to show.
  static func bad(_ text: String, because reason: String) -> ListLine { .bad(shown(text), reason: reason) }

  /// A line that is too long to be read, with its start.
  init(tooLong bytes: [UInt8], reason: String) {
    let shown = ListLine.shown(String(decoding: bytes, as: UTF8.self), atMost: 60)
    self = .bad(shown.hasSuffix("…") ? shown : shown + "…", reason: reason)
  }

  /// How many characters of a bad line are shown: a few lines of a terminal.
  static let mostShown = 200

  private static func shown(_ text: String, atMost most: Int = mostShown) -> String {
    ShownText.of(ShownText.withoutPassword(text), atMost: most)
  }
}
