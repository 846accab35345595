import HeadgateDispatch

/// Text from outside as the page shows it: with the escapes that the command uses on a terminal.
///
/// A direction mark could make one URL look like another, and a browser draws control characters as nothing.
enum PageText {
  /// How many scalars of a text the page has; the log has all of them.
  static let most = 2_000

  /// The text with a visible escape, such as `\u{202E}`, for each character that is invisible or turns the direction.
  static func of(_ text: String) -> String {
    ShownText.of(text.utf8.count <= most ? text : String(text.unicodeScalars.prefix(most)), atMost: .max)
  }
}
