import HeadgateDispatch
import HeadgateLibC

/// A secret or its location, in the notation of openssl: `env:NAME`, `file:PATH`, `pass:PHRASE`, or the phrase alone.
enum Secret: Hashable, Sendable {
  case phrase(String)
  case variable(String)
  case file(String)

  init(_ argument: String) {
    let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    switch (parts.first, parts.count == 2 ? String(parts[1]) : nil) {
    case ("env", let name?): self = .variable(name)
    case ("file", let path?): self = .file(path)
    case ("pass", let phrase?): self = .phrase(phrase)
    default: self = .phrase(argument)
    }
  }

  /// Returns the secret, which it reads from the environment or the file's first line if necessary.
  ///
  /// - Parameters:
  ///   - option: The name of the option, for errors.
  ///   - environment: Returns the value of a variable, or nil if it is not set.
  func value(
    for option: String, _ environment: (String) -> String? = Environment.value(of:)
  ) throws(FetchProblem) -> String {
    switch self {
    case .phrase(let phrase): return phrase
    case .variable(let name):
      guard let value = environment(name) else {
        throw FetchProblem("\(option): the environment has no variable \(name)", status: .usage)
      }
      return value
    case .file(let path):
      do throws(SystemError) {
        let line = try Descriptor.readFile(path).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return String(decoding: line, as: UTF8.self)
      } catch {
        throw FetchProblem("\(option): the file \(path) can't be read: \(error)")
      }
    }
  }
}

/// The environment of the process.
enum Environment {
  /// A variable's value. Nil if it is not set.
  static func value(of name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
