import HeadgateDispatch
import HeadgateLibC

/// Why a file can't be created.
enum CreationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It is a symbolic link to something other than a device or a pipe.
  case link
  /// Another user owns the file and could read it.
  case foreign
  /// It must be empty, and is not.
  case full
  /// The system refuses.
  case system(SystemError)

  var description: String {
    switch self {
    case .link: "it is a symbolic link, which another user may have planted; give the path of its target"
    case .foreign: "another user owns it; remove it, or choose another name"
    case .full: "it is not empty; remove it, or choose another name"
    case .system(let error) where error.errno == ENXIO: "it is a pipe without a reader, or a socket"
    case .system(let error): "\(error)"
    }
  }
}

extension Descriptor {
  private static let forWriting = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK

  /// What happens to the contents of an existing file.
  enum Existing { case isReplaced, isContinued, mustBeEmpty }

  /// Opens a file for writing, from its start unless an existing one is continued. A new file is accessible to its owner
  /// alone, since URLs may contain secrets. An existing file keeps its mode.
  ///
  /// Files that another user may have planted are refused: files and pipes of other users except root, and symbolic
  /// links, unless their target is a device, a pipe or a standard stream of the process, as with /dev/stderr. It does
  /// not wait for the other end of a named pipe. A pipe without a reader is the error `ENXIO`.
  static func create(_ path: String, existing: Existing = .isReplaced) throws(CreationError) -> Int32 {
    var isLink = false
    var opened = open(path, forWriting | O_CREAT | O_NOFOLLOW, 0o600)
    if opened < 0, errno == ELOOP {
      isLink = true
      opened = open(path, forWriting)
      if opened < 0, errno == ENOENT { throw .link }
    }
    guard opened >= 0 else { throw .system(.last) }
    do throws(CreationError) {
      try prepare(opened, isLink: isLink, existing)
      if existing == .isContinued { endLine(opened, path) }
      return opened
    } catch {
      close(opened)
      throw error
    }
  }

  // The file is truncated only after its owner has been checked.
  private static func prepare(_ opened: Int32, isLink: Bool, _ existing: Existing) throws(CreationError) {
    var info = stat()
    guard fstat(opened, &info) == 0 else { throw .system(.last) }
    var append: Int32 = 0
    switch info.st_mode & S_IFMT {
    case S_IFREG where isLink:
      // /dev/stderr leads to a file if the shell redirected the stream. Its contents are kept.
      guard isStandardStream(info) else { throw .link }
      append = O_APPEND
    case S_IFREG:
      guard isOwn(info) else { throw .foreign }
      switch existing {
      case .isReplaced: guard ftruncate(opened, 0) == 0 else { throw .system(.last) }
      case .isContinued:
        append = O_APPEND
      case .mustBeEmpty: guard info.st_size == 0 else { throw .full }
      }
    case S_IFIFO: guard isOwn(info) || isStandardStream(info) else { throw .foreign }
    case S_IFCHR: break
    default: if isLink { throw .link }
    }
    // Only opening must not wait.
    let flags = fcntl(opened, F_GETFL)
    guard flags >= 0, fcntl(opened, F_SETFL, flags & ~O_NONBLOCK | append) == 0 else { throw .system(.last) }
  }

  // A kill may have torn the last line.
  private static func endLine(_ opened: Int32, _ path: String) {
    guard isRegularFile(opened), let size = try? found(opened).size, size > 0, let file = try? openForReading(path)
    else { return }
    defer { close(file) }
    guard let last = try? read(file, at: size - 1, atMost: 1).last, last != UInt8(ascii: "\n") else { return }
    try? write([UInt8(ascii: "\n")], to: opened)
  }

  /// Whether an open file is the user's own, or root's.
  static func isOwn(_ descriptor: Int32) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && isOwn(info)
  }

  private static func isOwn(_ info: stat) -> Bool { info.st_uid == geteuid() || info.st_uid == 0 }

  // A pipe among the standard streams may belong to another user, such as the one who called sudo.
  private static func isStandardStream(_ info: stat) -> Bool {
    (Int32(0)...2).contains { stream in
      var other = stat()
      return fstat(stream, &other) == 0 && other.st_dev == info.st_dev && other.st_ino == info.st_ino
    }
  }
}
