import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// The message about an input that can't be opened.
enum InputProblem {
  /// - Parameters:
  ///   - kind: What it should be: a list, or rows.
  ///   - path: As it was given.
  static func of(_ kind: String, _ path: String, _ error: SystemError) -> FetchProblem {
    if path.hasPrefix("https://") || path.hasPrefix("http://") {
      let shown = ShownText.withoutPassword(path)
      return FetchProblem(
        "-i needs a file, but \(shown) is a URL; leave out -i, or save the file first", status: .usage)
    }
    return FetchProblem("the \(kind) \(path) can't be read: \(error)" + advice(path, error))
  }

  private static func advice(_ path: String, _ error: SystemError) -> String {
    switch error.errno {
    case ENOENT where !path.hasPrefix("/"): Descriptor.currentFolder.map { "; looked for in \($0)" } ?? ""
    case EISDIR: "; give a file in it"
    default: ""
    }
  }
}

extension Descriptor {
  /// The current folder, in which relative paths begin.
  static var currentFolder: String? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }
}
