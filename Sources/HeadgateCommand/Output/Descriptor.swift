import HeadgateDispatch
import HeadgateLibC

extension Descriptor {
  /// Opens standard streams that were closed when the process began. Otherwise the next file or socket would get their
  /// number, and bodies would be written to it. Using a stream opened here fails.
  static func fillStandardStreams() {
    for stream in Int32(0)...2 where fcntl(stream, F_GETFD) < 0 {
      // The system assigns the lowest free number, which is that of the stream.
      _ = open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY)
    }
  }

  /// Whether users other than the owner may read a file. False for a missing file.
  static func othersMayRead(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0 && info.st_mode & (S_IRGRP | S_IROTH) != 0
  }

  /// Opens an unnamed file, which disappears when it is closed.
  static func temporary() throws(SystemError) -> Int32 {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    var template = ((folder.isEmpty ? "/tmp" : folder) + "/headgate-XXXXXX").utf8CString.map { $0 }
    // mkstemp creates it exclusively, with a random name, for its owner alone.
    let opened = mkstemp(&template)
    guard opened >= 0 else { throw .last }
    unlink(template)
    _ = fcntl(opened, F_SETFD, FD_CLOEXEC)
    return opened
  }

  /// Makes a folder and its missing parents.
  ///
  /// - Parameter syncs: Whether the entries of new folders are written to the disk, as far as the folders above them
  ///   can be read.
  static func makeFolder(_ path: String, syncs: Bool = false) throws(SystemError) {
    if mkdir(path, 0o777) == 0 {
      if syncs { try? syncFolder(parent(of: path)) }
      return
    }
    switch errno {
    case EEXIST:
      var info = stat()
      guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else { throw SystemError(errno: ENOTDIR) }
    case ENOENT:
      let above = parent(of: path)
      guard above != ".", above != "/" else { throw SystemError(errno: ENOENT) }
      try makeFolder(above, syncs: syncs)
      guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw .last }
      if syncs { try? syncFolder(above) }
    default: throw .last
    }
  }

  /// Renames a file. Returns false if the name is taken: by anything, or with `replacing` by anything but a regular file.
  static func place(_ path: String, at name: String, replacing: Bool) throws(SystemError) -> Bool {
    if replacing {
      var info = stat()
      guard stat(name, &info) != 0 || info.st_mode & S_IFMT == S_IFREG else { return false }
    } else {
      // Unlike rename, link never replaces a file.
      if link(path, name) == 0 {
        unlink(path)
        return true
      }
      switch errno {
      case EEXIST: return false
      // On a file system without links, an empty file takes the name first, and is replaced.
      case EPERM, EOPNOTSUPP, EMLINK:
        let claim = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard claim >= 0 else {
          if errno == EEXIST { return false }
          throw .last
        }
        systemClose(claim)
      default: throw .last
      }
    }
    guard rename(path, name) == 0 else { throw .last }
    return true
  }

  /// The two ends of a pipe.
  static func pipe() throws(SystemError) -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    guard systemPipe(&ends) == 0 else { throw .last }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Reads up to a line feed, which is not included. Empty at the end.
  static func readLine(_ descriptor: Int32) throws(SystemError) -> [UInt8] {
    var line: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      let count = systemRead(descriptor, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .last }
      guard count > 0, byte != UInt8(ascii: "\n") else { return line }
      line.append(byte)
    }
  }

  /// The width of a terminal. Nil for other descriptors.
  static func columns(_ descriptor: Int32) -> Int? { terminalSize(descriptor)?.columns }

  /// The size of a terminal. Nil for other descriptors.
  static func terminalSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
    guard isatty(descriptor) == 1 else { return nil }
    var size = winsize()
    // A serial line has no size.
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Whether another job has the terminal, such as the shell after `bg`.
  static func isInBackground(_ descriptor: Int32) -> Bool {
    let group = tcgetpgrp(descriptor)
    return group > 0 && group != getpgrp()
  }

  /// An environment variable. Nil if it is not set.
  static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Whether it is open for writing to a file, a pipe, a socket or a device. The process has others of its own.
  static func isOutput(_ descriptor: Int32) -> Bool {
    let flags = fcntl(descriptor, F_GETFL)
    var info = stat()
    guard flags >= 0, flags & O_ACCMODE != O_RDONLY, fstat(descriptor, &info) == 0 else { return false }
    return [S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR].contains(info.st_mode & S_IFMT)
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Whether two paths lead to the same existing file.
  static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (first, second) = (stat(), stat())
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
      && first.st_ino == second.st_ino
  }

  /// The names in a folder. Empty if it can't be read.
  static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Whether a path is that of a folder. Nil if nothing exists there.
  static func isFolder(_ path: String) -> Bool? {
    var info = stat()
    guard stat(path, &info) == 0 else { return errno == ENOENT ? nil : false }
    return info.st_mode & S_IFMT == S_IFDIR
  }
}

// Lets the methods above call the system functions of the same names.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }

private func systemPipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 { pipe(ends) }
