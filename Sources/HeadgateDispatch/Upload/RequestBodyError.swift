import HeadgateThreads

/// Why the body of a request could not be read. The `DispatchError.underlyingError` of a `bodyFailed`.
public struct RequestBodyError: HeadgateError, Hashable {
  /// What went wrong. More codes may be added: a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs.
    public let description: String
    let words: String

    /// The file could not be opened or read: see ``RequestBodyError/errno``.
    public static let unreadable = Code(description: "unreadable", words: "can't be read")
    /// The path does not name a regular file: it is a folder, a pipe or a device.
    public static let notAFile = Code(description: "not_a_file", words: "is not a regular file")
    /// The range begins below 0 or goes beyond the file's end.
    public static let outOfRange = Code(description: "out_of_range", words: "does not hold the range")
    /// The file became shorter since the request started.
    public static let shrank = Code(description: "shrank", words: "became shorter while it was sent")
    /// The file became longer since the request started.
    public static let grew = Code(description: "grew", words: "became longer while it was sent")
    /// The file was written to, or another took its place, since the request started. Its length is the same.
    public static let changed = Code(description: "changed", words: "was changed while it was sent")
    /// The sequence ended before its declared length.
    public static let tooShort = Code(description: "too_short", words: "ended before its declared length")
    /// The sequence produced more than its declared length, or the declared length is negative. Or the files of a form
    /// are longer together than any body can be.
    public static let tooLong = Code(description: "too_long", words: "exceeded its declared length")
    /// Its path from a folder leads out of that folder.
    package static let outside = Code(description: "outside", words: "is not below its folder")
    /// A link leads to it, or a part of its path is not a folder.
    package static let linked = Code(
      description: "linked", words: "can't be opened: its path contains a symbolic link, or a file as a folder")
    /// It belongs to another user.
    package static let foreign = Code(description: "foreign", words: "belongs to another user")
  }

  /// What went wrong.
  public let code: Code

  /// The file's path; nil for a sequence.
  public let path: String?

  /// The actual number of bytes: in the file, or from the sequence when the error was detected.
  public let found: Int64

  /// The expected number of bytes.
  public let expected: Int64

  /// The system's error number; 0 if no system call failed.
  public let errno: Int32

  /// Whether the body could not be opened, so that no byte of the request was sent.
  package internal(set) var isBeforeSending = false

  init(_ code: Code, path: String? = nil, found: Int64 = 0, expected: Int64 = 0, errno: Int32 = 0) {
    self.code = code
    self.path = path
    self.found = found
    self.expected = expected
    self.errno = errno
  }

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: the problem, the file and the byte counts.
  public var description: String {
    let name = path.map { "the file \"\(ShownText.of($0))\"" } ?? "the body's sequence"
    if code == .unreadable { return "\(name) \(code.words): \(SystemError(errno: errno))" }
    if [.notAFile, .changed, .outside, .linked, .foreign].contains(code) { return "\(name) \(code.words)" }
    return "\(name) \(code.words): \(found) bytes instead of \(expected)"
  }
}

extension DispatchError {
  /// The error for a body that could not be read.
  init(body error: any Error) {
    self.init(.bodyFailed, phase: .sending, detail: "\(error)", underlyingError: error)
  }
}
