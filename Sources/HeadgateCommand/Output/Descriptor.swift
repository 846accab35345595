// The few system calls that the command makes, with their interruptions and short counts taken care of.

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A system call's error number, which describes itself.
struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  let errno: Int32

  var description: String { String(cString: strerror(errno)) }

  static var last: SystemError {
    #if canImport(Darwin)
    SystemError(errno: Darwin.errno)
    #elseif canImport(Glibc)
    SystemError(errno: Glibc.errno)
    #else
    SystemError(errno: Musl.errno)
    #endif
  }
}

enum Descriptor {
  /// Fills the standard streams that were closed when the process began. Else the next file or socket to be opened
  /// would be one of them, and bodies would be written into it. Using a filled one fails.
  static func fillStandardStreams() {
    for stream in Int32(0)...2 where fcntl(stream, F_GETFD) < 0 {
      // The lowest free number is given out: that of the stream.
      _ = open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY)
    }
  }

  /// Reads a small file whole, such as one with a secret. Waits for what comes through a pipe.
  ///
  /// - Throws: `EFBIG` when it has more than a megabyte.
  static func readFile(_ path: String) throws(SystemError) -> [UInt8] {
    let opened = try openForReading(path)
    defer { systemClose(opened) }
    var bytes: [UInt8] = []
    while bytes.count <= 1 << 20 {
      _ = wait(for: opened, Int32(POLLIN), orFor: nil)
      let piece = try read(opened, atMost: 64 * 1024)
      if piece.isEmpty { return bytes }
      bytes += piece
    }
    throw SystemError(errno: EFBIG)
  }

  /// Whether others than its owner may read a file; false where there is none.
  static func othersMayRead(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0 && info.st_mode & (S_IRGRP | S_IROTH) != 0
  }

  /// Opens a file for reading. Does not wait for the other end of a named pipe: who reads it polls first.
  static func openForReading(_ path: String) throws(SystemError) -> Int32 {
    let opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard opened >= 0 else { throw .last }
    guard !isFolder(opened) else {
      systemClose(opened)
      throw SystemError(errno: EISDIR)
    }
    return opened
  }

  /// A file without a name, which is gone when it is closed.
  static func temporary() throws(SystemError) -> Int32 {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    var template = ((folder.isEmpty ? "/tmp" : folder) + "/headgate-XXXXXX").utf8CString.map { $0 }
    // Of a random name, exclusively, for its owner alone.
    let opened = mkstemp(&template)
    guard opened >= 0 else { throw .last }
    unlink(template)
    _ = fcntl(opened, F_SETFD, FD_CLOEXEC)
    return opened
  }

  /// Makes a folder and those above it, as far as they are missing.
  static func makeFolder(_ path: String) throws(SystemError) {
    if mkdir(path, 0o777) == 0 { return }
    switch errno {
    case EEXIST:
      var info = stat()
      guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else { throw SystemError(errno: ENOTDIR) }
    case ENOENT:
      // By bytes: a slash and a combining mark after it are one character.
      let trimmed = path.utf8.last == UInt8(ascii: "/") ? path.utf8.dropLast() : path.utf8[...]
      guard let slash = trimmed.lastIndex(of: UInt8(ascii: "/")), slash > trimmed.startIndex else {
        throw SystemError(errno: ENOENT)
      }
      try makeFolder(String(decoding: trimmed[..<slash], as: UTF8.self))
      guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw .last }
    default: throw .last
    }
  }

  static func close(_ descriptor: Int32) { systemClose(descriptor) }

  /// Writes all bytes. Blocks.
  static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: $0[written...])) }
      let error = SystemError.last
      if count >= 0 {
        written += count
      } else if error.errno == EAGAIN {
        // Whoever gave us the descriptor may have made it one that does not block.
        _ = wait(for: descriptor, POLLOUT, orFor: nil)
      } else if error.errno != EINTR {
        throw error
      }
    }
  }

  /// The two ends of a pipe.
  static func pipe() throws(SystemError) -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    guard systemPipe(&ends) == 0 else { throw .last }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Reads what there is; empty at the end. Blocks only if nothing is there.
  static func read(_ descriptor: Int32, atMost length: Int) throws(SystemError) -> [UInt8] {
    while true {
      var error: SystemError?
      let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
        let read = systemRead(descriptor, buffer.baseAddress, length)
        if read < 0 { error = .last }
        count = max(0, read)
      }
      guard let error else { return bytes }
      guard error.errno == EINTR || error.errno == EAGAIN else { throw error }
    }
  }

  /// Reads up to a line feed, which is left out; empty at the end.
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

  /// Reads from a place in a file; empty at its end.
  static func read(_ descriptor: Int32, at offset: Int, atMost length: Int) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      let read = pread(descriptor, buffer.baseAddress, length, off_t(offset))
      if read < 0 { failure = .last }
      count = max(0, read)
    }
    if let failure { throw failure }
    return bytes
  }

  /// Blocks until one of the two descriptors is ready or at its end. Returns whether it was the second one.
  static func wait(for descriptor: Int32, _ events: Int32, orFor other: Int32?) -> Bool {
    var wanted = [pollfd(fd: descriptor, events: Int16(events), revents: 0)]
    if let other { wanted.append(pollfd(fd: other, events: Int16(POLLIN), revents: 0)) }
    while poll(&wanted, nfds_t(wanted.count), -1) < 0, SystemError.last.errno == EINTR {}
    return wanted.count > 1 && wanted[1].revents != 0
  }

  /// The width of the terminal behind a descriptor; nil if it is none.
  static func columns(_ descriptor: Int32) -> Int? { terminalSize(descriptor)?.columns }

  /// The size of the terminal behind a descriptor; nil if it is none.
  static func terminalSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
    guard isatty(descriptor) == 1 else { return nil }
    var size = winsize()
    // A serial line knows no size.
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Whether a terminal is another job's: the shell's, after `bg`.
  static func isInBackground(_ descriptor: Int32) -> Bool {
    let group = tcgetpgrp(descriptor)
    return group > 0 && group != getpgrp()
  }

  /// A variable of the environment; nil where it is not set.
  static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Whether it is a file that ends, and no pipe or device.
  static func isRegularFile(_ descriptor: Int32) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
  }

  /// Whether two names lead to one file that exists.
  static func isSameFile(_ one: String, _ other: String) -> Bool {
    var (first, second) = (stat(), stat())
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
      && first.st_ino == second.st_ino
  }

  /// The names in a folder; none where it can't be read.
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

  private static func isFolder(_ descriptor: Int32) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
  }
}

// Named so that the methods above can reach the system's calls of the same names.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }

private func systemPipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 { pipe(ends) }
