/// Splits a command into words as sh does: at blanks, with quotes and backslashes. Nothing is expanded.
enum ShellWords {
  private enum Quote { case none, single, double }

  /// - Throws: ``OptionError`` if a quote is not closed, or if there is no word.
  static func split(_ text: String) throws(OptionError) -> [String] {
    var words: [String] = []
    var word: String?
    var quote = Quote.none
    var rest = text.unicodeScalars[...]
    func add(_ scalar: Unicode.Scalar) { word = (word ?? "") + String(scalar) }
    while let scalar = rest.popFirst() {
      switch (quote, scalar) {
      case (.single, "'"), (.double, "\""): quote = .none
      case (.single, _): add(scalar)
      case (.double, "\\"):
        // Between these quotes, a backslash before any other sign stands for itself.
        if rest.first == "\n" {
          rest.removeFirst()
        } else if let next = rest.first, ["\"", "\\", "$", "`"].contains(next) {
          add(rest.removeFirst())
        } else {
          add(scalar)
        }
      case (.double, _): add(scalar)
      case (.none, "'"), (.none, "\""):
        quote = scalar == "'" ? .single : .double
        word = word ?? ""
      case (.none, "\\"):
        guard let next = rest.popFirst() else { throw OptionError("nothing follows the last backslash") }
        // The end of a line after a backslash is no part of the command.
        if next != "\n" { add(next) }
      case (.none, " "), (.none, "\t"), (.none, "\n"):
        if let ended = word.take() { words.append(ended) }
      case (.none, _): add(scalar)
      }
    }
    guard quote == .none else { throw OptionError("a quote is not closed") }
    if let word { words.append(word) }
    guard let first = words.first, !first.isEmpty else {
      throw OptionError("write a command, such as 'gcloud auth print-access-token'")
    }
    guard !words.contains(where: { $0.utf8.contains(0) }) else { throw OptionError("it contains a zero byte") }
    return words
  }
}
