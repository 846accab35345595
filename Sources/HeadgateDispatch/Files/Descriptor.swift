// Wrappers for system calls that handle interruptions and short counts.

import HeadgateLibC

/// The error number of a system call.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  package let errno: Int32

  package init(errno: Int32) { self.errno = errno }

  package var description: String { String(cString: strerror(errno)) }

  package static var last: SystemError {
    #if canImport(Darwin)
    SystemError(errno: Darwin.errno)
    #elseif canImport(Glibc)
    SystemError(errno: Glibc.errno)
    #else
    SystemError(errno: Musl.errno)
    #endif
  }
}

/// System calls on files. All of them block.
package enum Descriptor {
  /// Opens a file for reading. Does not wait for the other end of a named pipe, so readers must poll first.
  package static func openForReading(_ path: String) throws(SystemError) -> Int32 {
    let opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard opened >= 0 else { throw .last }
    guard !isFolder(opened) else {
      systemClose(opened)
      throw SystemError(errno: EISDIR)
    }
    return opened
  }

  /// Whether it is a regular file, which has an end, and not a pipe or device.
  package static func isRegularFile(_ descriptor: Int32) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
  }

  private static func isFolder(_ descriptor: Int32) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
  }

  /// Reads a small file whole, such as one with a secret. For a pipe it waits for the data.
  ///
  /// - Throws: `EFBIG` for more than `most` bytes.
  package static func readFile(_ path: String, atMost most: Int = 1 << 20) throws(SystemError) -> [UInt8] {
    let opened = try openForReading(path)
    defer { systemClose(opened) }
    return try readAll(opened, atMost: most)
  }

  /// Reads to the end.
  ///
  /// - Throws: `EFBIG` for more than `most` bytes.
  package static func readAll(_ descriptor: Int32, atMost most: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= most {
      let piece = try readNext(descriptor)
      if piece.isEmpty { return bytes }
      bytes += piece
    }
    throw SystemError(errno: EFBIG)
  }

  /// Reads the next piece; empty at the end. For a pipe it waits for a writer and for data.
  package static func readNext(_ descriptor: Int32) throws(SystemError) -> [UInt8] {
    _ = wait(for: descriptor, Int32(POLLIN), orFor: nil)
    return try read(descriptor, atMost: 64 * 1024)
  }

  /// Reads the available bytes. Empty at the end. Blocks only if no bytes are available.
  package static func read(_ descriptor: Int32, atMost length: Int) throws(SystemError) -> [UInt8] {
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

  /// Reads at an offset in a file. Empty at its end.
  package static func read(
    _ descriptor: Int32, at offset: Int, atMost length: Int
  ) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      let read = pread(descriptor, buffer.baseAddress, length, off_t(offset))
      if read < 0 { failure = .last }
      count = max(0, read)
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes all bytes.
  package static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: $0[written...])) }
      let error = SystemError.last
      if count >= 0 {
        written += count
      } else if error.errno == EAGAIN {
        // The descriptor may be nonblocking, if the parent process set it so.
        _ = wait(for: descriptor, POLLOUT, orFor: nil)
      } else if error.errno != EINTR {
        throw error
      }
    }
  }

  /// Blocks until one of the descriptors is ready or at its end. Returns whether the second one is.
  package static func wait(for descriptor: Int32, _ events: Int32, orFor other: Int32?) -> Bool {
    var wanted = [pollfd(fd: descriptor, events: Int16(events), revents: 0)]
    if let other { wanted.append(pollfd(fd: other, events: Int16(POLLIN), revents: 0)) }
    while poll(&wanted, nfds_t(wanted.count), -1) < 0, SystemError.last.errno == EINTR {}
    return wanted.count > 1 && wanted[1].revents != 0
  }

  package static func close(_ descriptor: Int32) { systemClose(descriptor) }

  /// Returns once all written data is on disk. File systems without support for this are assumed to be safe.
  package static func sync(_ descriptor: Int32) throws(SystemError) {
    #if canImport(Darwin)
    // On Darwin fsync leaves the bytes in the drive's cache.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    while fsync(descriptor) != 0 {
      switch SystemError.last.errno {
      case EINTR: continue
      case EINVAL, ENOTSUP, EROFS: return
      default: throw .last
      }
    }
  }

  /// Opens a folder, for ``sync(_:)``.
  package static func openFolder(_ path: String) throws(SystemError) -> Int32 {
    let opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw .last }
    return opened
  }

  /// Writes the entries of a folder to the disk.
  package static func syncFolder(_ path: String) throws(SystemError) {
    let opened = try openFolder(path)
    defer { systemClose(opened) }
    try sync(opened)
  }

  /// The folder that contains a file or a folder.
  package static func parent(of path: String) -> String {
    // Works on bytes, since a slash and a combining mark form one Character.
    let trimmed = path.utf8.last == UInt8(ascii: "/") ? path.utf8.dropLast() : path.utf8[...]
    guard let slash = trimmed.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == trimmed.startIndex ? "/" : String(decoding: trimmed[..<slash], as: UTF8.self)
  }

  /// An identifier of the machine's last boot. Nil if the system has none.
  package static func boot() -> String? {
    #if canImport(Darwin)
    var size = 0
    guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: size)
    guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return nil }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #else
    guard let bytes = try? readFile("/proc/sys/kernel/random/boot_id") else { return nil }
    let word = bytes.prefix { $0 > 0x20 }
    return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
    #endif
  }
}

extension Checksum {
  /// The checksum of a file.
  package init(ofFile path: String) throws(SystemError) {
    let file = try Descriptor.openForReading(path)
    defer { systemClose(file) }
    var hash = SHA256()
    while case let piece = try Descriptor.read(file, atMost: 256 * 1024), !piece.isEmpty { hash.update(piece) }
    self.init(hash)
  }
}

// Lets the methods above call the system functions of the same names.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }
