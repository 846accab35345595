import HeadgateDispatch

/// The file that user names and passwords are read from.
enum NetrcFile {
  /// The default file: `$NETRC`, or `.netrc` in the home folder. Nil without either.
  static func standard(_ environment: (String) -> String? = Environment.value(of:)) -> String? {
    if let path = environment("NETRC"), !path.isEmpty { return path }
    guard let home = environment("HOME"), !home.isEmpty else { return nil }
    return home + "/.netrc"
  }

  /// Reads it.
  static func read(_ path: String) throws(FetchProblem) -> Netrc {
    do {
      return try Netrc(try Descriptor.readFile(path))
    } catch {
      throw FetchProblem("the passwords in \(path) can't be read: \(error)")
    }
  }
}
