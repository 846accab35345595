import HeadgateDispatch

/// What is said of a text that is no URL.
enum BadURL {
  /// The text and what is wrong with it, each once: the dispatcher's detail often names the text itself.
  static func message(_ text: String, _ detail: String) -> String {
    let named = ShownText.withoutPassword(text)
    let quoted = ShownText.of("\"\(named)\"")
    let shown = "\"\(ShownText.of(named, atMost: ListLine.mostShown))\""
    guard !detail.isEmpty, detail != quoted else { return "\(shown) is no URL; write it as http://host/path" }
    return detail.hasPrefix(quoted) ? shown + detail.dropFirst(quoted.count) : "\(shown): \(detail)"
  }
}
