import HeadgateDispatch

/// The message about a text that is not a URL.
enum BadURL {
  /// The text and the problem, each once: the dispatcher's detail often contains the text itself.
  static func message(_ text: String, _ detail: String) -> String {
    let named = ShownText.withoutPassword(text)
    let quoted = ShownText.of("\"\(named)\"")
    let shown = "\"\(ShownText.of(named, atMost: ListLine.mostShown))\""
    guard !detail.isEmpty, detail != quoted else { return "\(shown) is not a URL; write it as http://host/path" }
    return detail.hasPrefix(quoted) ? shown + detail.dropFirst(quoted.count) : "\(shown): \(detail)"
  }
}
