import HeadgateLibC

/// Why a file can't be created.
enum CreationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It is a symbolic link to something other than a device or a pipe.
  case link
  /// Another user owns the file and could read it.
  case foreign
  /// The system refuses.
  case system(SystemError)

  var description: String {
    switch self {
    case .link: "it is a symbolic link, which another user may have planted; give the path of its target"
    case .foreign: "another user owns it; remove it, or choose another name"
    case .system(let error) where error.errno == ENXIO: "it is a pipe without a reader, or a socket"
    case .system(let error): "\(error)"
    }
  }
}

extension Descriptor {
  private static let forWriting = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK

  /// Opens a file for writing from its start. A new file is accessible to its owner alone, since URLs may contain
  /// secrets. An existing file keeps its mode.
  ///
  /// Files that another user may have planted are refused: files and pipes of other users except root, and symbolic
  /// links, unless their target is a device, a pipe or a standard stream of the process, as with /dev/stderr. It does
  /// not wait for the other end of a named pipe. A pipe without a reader is the error `ENXIO`.
  static func create(_ path: String) throws(CreationError) -> Int32 {
    var isLink = false
    var opened = open(path, forWriting | O_CREAT | O_NOFOLLOW, 0o600)
    if opened < 0, errno == ELOOP {
      isLink = true
      opened = open(path, forWriting)
      if opened < 0, errno == ENOENT { throw .link }
    }
    guard opened >= 0 else { throw .system(.last) }
    do throws(CreationError) {
      try prepare(opened, isLink: isLink)
      return opened
    } catch {
      close(opened)
      throw error
    }
  }

  // The file is truncated only after its owner has been checked.
  private static func prepare(_ opened: Int32, isLink: Bool) throws(CreationError) {
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
      guard ftruncate(opened, 0) == 0 else { throw .system(.last) }
    case S_IFIFO: guard isOwn(info) || isStandardStream(info) else { throw .foreign }
    case S_IFCHR: break
    default: if isLink { throw .link }
    }
    // Only opening must not wait.
    let flags = fcntl(opened, F_GETFL)
    guard flags >= 0, fcntl(opened, F_SETFL, flags & ~O_NONBLOCK | append) == 0 else { throw .system(.last) }
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
