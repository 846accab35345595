/// The arguments of `headgate hold`. The parser knows a command only after `--`, which users of xargs, nice or timeout
/// do not expect to write.
enum HoldArguments {
  /// The options that take no value.
  static let flags: Set<String> = ["--long", "--help", "-h", "--version"]

  /// The arguments with `--` before the command: before the second word that is neither an option nor its value. Unchanged
  /// if there is no such word, if `--` is there already, or for other subcommands.
  static func completed(_ arguments: [String]) -> [String] {
    guard arguments.first == "hold" else { return arguments }
    var index = 1
    var hasEndPoint = false
    while index < arguments.count, arguments[index] != "--" {
      let argument = arguments[index]
      if argument.hasPrefix("-") {
        index += flags.contains(argument) || argument.contains("=") ? 1 : 2
      } else if hasEndPoint {
        return arguments[..<index] + ["--"] + arguments[index...]
      } else {
        hasEndPoint = true
        index += 1
      }
    }
    return arguments
  }
}
