/// What is said of a text that is no URL.
enum BadURL {
  /// The text and what is wrong with it, each once: the dispatcher's detail often names the text itself.
  static func message(_ text: String, _ detail: String) -> String {
    let quoted = "\"\(text)\""
    let shown = "\"\(ListLine.shown(text))\""
    guard !detail.isEmpty, detail != quoted else { return "\(shown) is no URL; write it as http://host/path" }
    return detail.hasPrefix(quoted) ? shown + detail.dropFirst(quoted.count) : "\(shown): \(detail)"
  }
}
