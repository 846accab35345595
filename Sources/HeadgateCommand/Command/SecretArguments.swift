/// Arguments that are secret themselves: values of header fields, passwords, and passphrases of keys.
enum SecretArguments {
  /// The message with secrets replaced by `***`. It may quote values in single quotes, and contain whole arguments.
  static func hidden(in message: String, _ arguments: [String]) -> String {
    // Replaces bytes: with characters, adjacent text could combine with the ends of a secret.
    var bytes = Array(message.utf8)
    func hide(_ text: String, _ shown: String) { bytes = bytes.replacing(Array(text.utf8), with: Array(shown.utf8)) }
    for (index, argument) in arguments.enumerated() {
      guard let (option, value, mask) = split(argument) else { continue }
      if !value.isEmpty {
        // Values may be as short as one letter, which occurs everywhere, so only quoted values are replaced.
        hide("'\(value)'", "'\(mask(value))'")
        hide(argument, option + mask(value))
      } else if index + 1 < arguments.count {
        let value = arguments[index + 1]
        hide("'\(value)'", "'\(mask(value))'")
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // An argument's option, the value in the same argument, and how the value is shown. Nil for other options.
  private static func split(_ argument: String) -> (option: String, value: String, mask: (String) -> String)? {
    let forms: [(String, (String) -> String)] = [
      ("--header", field), ("--token-command", { _ in "***" }), ("--pass", phrase), ("--user", user), ("-H", field),
      ("-u", user),
    ]
    for (name, mask) in forms where argument.utf8.starts(with: name.utf8) {
      var value = argument.utf8.dropFirst(name.utf8.count)
      if value.first == UInt8(ascii: "=") {
        value = value.dropFirst()
      } else if !value.isEmpty, name.hasPrefix("--") {
        continue
      }
      let option = argument.utf8.dropLast(value.count)
      return (String(decoding: option, as: UTF8.self), String(decoding: value, as: UTF8.self), mask)
    }
    // The last of several letters: `-vH`.
    let isGroup = argument.utf8.first == UInt8(ascii: "-") && !argument.utf8.starts(with: "--".utf8)
    guard isGroup, let last = argument.utf8.last else { return nil }
    let masks = [UInt8(ascii: "H"): field, UInt8(ascii: "u"): user]
    return masks[last].map { (argument, "", $0) }
  }

  // Text without a colon may be a value without its name. The name of a file is not secret.
  private static func field(_ text: String) -> String {
    if text.utf8.first == UInt8(ascii: "@") { return text }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "***" }
    return String(decoding: text.utf8[...colon], as: UTF8.self) + " ***"
  }

  // What comes after a name and a colon would be a password. The name of a variable is not secret.
  private static func user(_ text: String) -> String {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return text }
    let before = String(decoding: text.utf8[...colon], as: UTF8.self)
    return before == "env:" || before.hasSuffix("=env:") ? text : "***"
  }

  // The place of a passphrase is not secret.
  private static func phrase(_ text: String) -> String {
    ["env:", "file:"].contains { text.utf8.starts(with: $0.utf8) } ? text : "***"
  }
}
