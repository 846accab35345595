/// A folder of the user for `headgate`, by the XDG base directory specification.
struct XDGFolder {
  /// The variable that it is from.
  let variable: String
  /// The folder that the environment names, in which `path` is.
  let base: String
  let path: String

  /// Nil without a home.
  ///
  /// - Parameters:
  ///   - variable: The variable with the base folder. A relative path counts as none, as the specification says.
  ///   - folder: The base folder below the user's home, without the variable.
  ///   - environment: Returns the value of a variable, or nil if it is not set.
  init?(_ variable: String, orInHome folder: String, _ environment: (String) -> String?) {
    if let base = environment(variable), base.hasPrefix("/") {
      (self.variable, self.base, path) = (variable, base, base + "/headgate")
    } else if let home = environment("HOME"), home.hasPrefix("/") {
      (self.variable, base, path) = ("HOME", home, "\(home)/\(folder)/headgate")
    } else {
      return nil
    }
  }
}
