/// The user's folders for `headgate`, by the XDG base directory specification.
enum XDGFolder {
  /// - Parameters:
  ///   - variable: The variable with the base folder. A relative path counts as none, as the specification says.
  ///   - folder: The base folder below the user's home, without the variable.
  ///   - environment: Returns the value of a variable, or nil if it is not set.
  /// - Returns: Nil without a home.
  static func path(_ variable: String, orInHome folder: String, _ environment: (String) -> String?) -> String? {
    if let base = environment(variable), base.hasPrefix("/") { return base + "/headgate" }
    return environment("HOME").flatMap { $0.hasPrefix("/") ? "\($0)/\(folder)/headgate" : nil }
  }
}
