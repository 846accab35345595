import HeadgateDispatch
import HeadgateLibC

/// The message about a text that is not a URL.
enum BadURL {
  /// The text and the problem, each once: the dispatcher's detail often contains the text itself.
  static func message(_ text: String, _ detail: String) -> String {
    let named = ShownText.withoutPassword(text)
    let quoted = ShownText.of("\"\(named)\"")
    let shown = "\"\(ShownText.of(named, atMost: ListLine.mostShown))\""
    guard !detail.isEmpty, detail != quoted else { return "\(shown) is not a URL; write it as http://host/path" }
    let said = detail.hasPrefix(quoted) ? shown + detail.dropFirst(quoted.count) : "\(shown): \(detail)"
    return said + advice(text, detail)
  }

  /// The message about an argument, which may be meant as something other than a URL.
  ///
  /// - Parameter here: Whether -O was given, after which some programs take a name.
  static func message(argument text: String, _ detail: String, here: Bool) -> String {
    guard lacksScheme(detail) else { return message(text, detail) }
    let shown = ShownText.of("\"\(ShownText.withoutPassword(text))\"", atMost: ListLine.mostShown)
    if access(text, F_OK) == 0 { return "\(shown) is a file, not a URL; give a list of URLs with -i FILE" }
    if here, !text.contains(".") { return "\(shown) is not a URL; -O takes no name: give -P DIR for a folder" }
    return message(text, detail)
  }

  private static func lacksScheme(_ detail: String) -> Bool { detail.hasSuffix(" has no scheme") }

  /// How the URL was probably meant.
  private static func advice(_ text: String, _ detail: String) -> String {
    guard detail.hasPrefix("the scheme ") || lacksScheme(detail) else { return "" }
    // host.example/path, or localhost:8080/path, whose host looks like a scheme.
    let parts = text.split(separator: ":", maxSplits: 1)
    let hasPort = parts.count == 2 && !parts[0].contains("/") && parts[1].first?.isNumber == true
    let isHost = hasPort || lacksScheme(detail) && text.contains(".")
    let isShort = !text.contains("//") && !text.contains("@") && text.utf8.count < 100
    return isHost && isShort ? "; write https://\(ShownText.of(text))" : "; URLs begin with https:// or http://"
  }
}
