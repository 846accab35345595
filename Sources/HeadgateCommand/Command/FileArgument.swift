import ArgumentParser
import HeadgateDispatch
import HeadgateLibC

/// The value of an option: a text, or a file that contains it (`@FILE`).
enum FileArgument {
  /// The maximum size of a file, in bytes.
  static let most = 64 << 20

  /// The bytes. Reads the file.
  ///
  /// - Parameters:
  ///   - text: The value.
  ///   - option: The option's name, for errors.
  ///   - isForm: Whether the lines of a file are joined, as in curl.
  ///   - standardInput: The source of `@-`. If it is nil, `@-` is refused.
  static func bytes(
    _ text: String, of option: String, isForm: Bool = false, standardInput: Int32? = nil
  ) throws(FetchProblem) -> [UInt8] {
    guard text.utf8.first == UInt8(ascii: "@") else { return Array(text.utf8) }
    let path = String(text.dropFirst())
    guard !path.isEmpty else {
      throw FetchProblem("\(option): write the file name directly after the @", status: .usage)
    }
    let isInput = path == "-"
    guard !isInput || standardInput != nil else {
      throw FetchProblem(
        "\(option): @- is not supported here; write the standard input to a file first, and give @FILE", status: .usage)
    }
    do throws(SystemError) {
      let bytes =
        if isInput, let standardInput { try Descriptor.readAll(standardInput, atMost: most) } else {
          try Descriptor.readFile(path, atMost: most)
        }
      return isForm ? bytes.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") && $0 != 0 } : bytes
    } catch {
      guard error.errno != EFBIG else { throw FetchProblem("\(option): it has more than \(most >> 20) MiB") }
      throw FetchProblem("\(option): \(isInput ? "standard input" : "the file \(path)") can't be read: \(error)")
    }
  }

  /// The bytes as text.
  static func text(_ text: String, of option: String, isForm: Bool = false) throws(FetchProblem) -> String {
    let bytes = try bytes(text, of: option, isForm: isForm)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw FetchProblem("\(option): the file \(text.dropFirst()) is not UTF-8", status: .usage)
    }
    return text
  }
}

extension OptionValue {
  /// Refuses an empty name of a file, and `-` where it does not stand for a stream: the file would be called `-`.
  ///
  /// - Parameter dash: What `-` stands for. Nil for nothing.
  static func checkFile(_ path: String?, of option: String, dash: String? = nil) throws {
    guard path != "" else {
      throw ValidationError("\(option) needs the name of a file\(dash.map { "; - is \($0)" } ?? "").")
    }
    guard path != "-" || dash != nil else {
      throw ValidationError("\(option) needs the name of a file; - has no meaning here.")
    }
  }
}
