import CHeadgate
import HeadgateLibC

/// Why remembered state can't be read or written.
struct StateFailure: Error, CustomStringConvertible {
  let description: String
  /// Whether the lock was not free in time.
  private(set) var isStuck = false

  init(_ action: String, _ path: String, _ number: Int32 = errno) {
    description = "can't \(action) \(ShownText.of(path)): \(String(cString: strerror(number)))"
  }

  init(stuck path: String) {
    description = "can't lock \(ShownText.of(path)), which another process has held for too long"
    isStuck = true
  }

  init(unusable path: String, _ words: String) { description = "can't use \(ShownText.of(path)), \(words)" }
}

/// The folder of remembered state: a small file for each end-point, and a lock. All calls block, for about as long as
/// the file system takes.
///
/// Files are replaced whole by rename(2), so that one can be read without the lock, and a process that is killed leaves
/// no torn file. They are not synchronized to the disk: after a power failure less is known, and nothing wrong.
struct StateFolder: Sendable {
  let path: String
  /// The maximum number of files.
  let capacity: Int

  private var lockPath: String { path + "/lock" }
  /// Where the next contents of a file are written, under the lock. No end-point has these names, because each has a
  /// colon.
  private var partPath: String { path + "/part" }

  /// Creates the folder, and those above it that are missing.
  func create() throws(StateFailure) {
    guard path.utf8.first == UInt8(ascii: "/") else {
      throw StateFailure(unusable: path, "which is not an absolute path")
    }
    var parent = ""
    for name in path.split(separator: "/") {
      parent += "/" + name
      if mkdir(parent, 0o700) != 0, errno != EEXIST, parent.utf8.count >= path.utf8.count {
        throw StateFailure("create", parent)
      }
    }
    guard try isUsable() else { throw StateFailure("create", path, ENOENT) }
  }

  /// Checks that the folder belongs to this user alone. Returns false if there is none.
  func isUsable() throws(StateFailure) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return false }
      throw StateFailure("use", path)
    }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw StateFailure(unusable: path, "which belongs to another user or is open to others")
    }
    return true
  }

  // MARK: Files

  /// The contents of a file. Nil if there is none. Empty if it is no file of this folder, but a link, a pipe or another
  /// user's.
  func read(_ name: String) throws(StateFailure) -> String? {
    let path = path + "/" + name
    // Nonblocking, because nobody may write to a pipe.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      if errno == ELOOP || errno == ENXIO { return "" }
      throw StateFailure("read", path)
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_size <= Remembered.mostBytes
    else { return "" }
    var length = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Remembered.mostBytes) { buffer, count in
      length = systemRead(file, buffer.baseAddress, Remembered.mostBytes)
      count = max(0, length)
    }
    guard length >= 0 else { throw StateFailure("read", path) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Replaces a file, under the lock.
  ///
  /// - Parameter end: When its contents are past, in seconds since 1970. Kept as the file's modification time, so that
  ///   files that are past are found without reading them.
  func write(_ text: String, to name: String, end: Int64) throws(StateFailure) {
    let file = open(partPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw StateFailure("write", partPath) }
    let bytes = Array(text.utf8)
    let written = systemWrite(file, bytes)
    // A short count means a full disk, whose error another write would tell.
    let failure: Int32? = written == bytes.count ? nil : written < 0 ? errno : ENOSPC
    headgate_set_modified(file, end)
    close(file)
    guard failure == nil, rename(partPath, path + "/" + name) == 0 else {
      let error = StateFailure("write", path + "/" + name, failure ?? errno)
      unlink(partPath)
      throw error
    }
  }

  /// Removes a file, under the lock.
  func remove(_ name: String) { unlink(path + "/" + name) }

  // MARK: The lock

  /// Runs `body` while no other process or thread does so in this folder. Creates the folder if necessary.
  ///
  /// - Parameter patience: How long to wait for the lock, in milliseconds. A process that is stopped may hold it for
  ///   ever.
  /// - Throws: ``StateFailure`` for a folder or lock that can't be used, and if the lock is not free in time.
  func withLock<Result>(
    patience: Int, _ body: (_ lock: Int32) throws(StateFailure) -> Result
  ) throws(StateFailure) -> Result {
    if try !isUsable() { try create() }
    // Opened anew each time, so that it excludes other threads too.
    let lock = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { throw StateFailure("open", lockPath) }
    defer { close(lock) }
    var waited = 0
    while flock(lock, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw StateFailure("lock", lockPath) }
      guard waited < patience else { throw StateFailure(stuck: lockPath) }
      // Rejected: flock without LOCK_NB, which has no time limit.
      waited += 1
      usleep(1000)
    }
    return try body(lock)
  }

  // MARK: The number of files

  /// Makes room for another file, under the lock. The number of files is kept in the lock's own file, so that they need
  /// not be counted each time. The number also counts those removed since, and is corrected by the next ``sweep``.
  ///
  /// - Parameters:
  ///   - lock: The lock's descriptor.
  ///   - sweeps: Whether files that are past are removed in any case.
  ///   - now: The current time, in seconds since 1970.
  func makeRoom(_ lock: Int32, sweeps: Bool, at now: Int64) throws(StateFailure) {
    var digits = [UInt8](repeating: 0, count: 20)
    let length = pread(lock, &digits, digits.count, 0)
    let known = Int(String(decoding: digits.prefix(max(0, length)).prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
    var count = known ?? capacity
    if sweeps || known == nil || count >= capacity || count < 0 { count = try sweep(at: now) }
    // Always as long, because some file systems write a file to the disk at once if it was truncated.
    let text = Array(("\(count + 1)" + String(repeating: " ", count: digits.count)).utf8.prefix(digits.count))
    // Counted before the file exists: a process that is killed in between makes the number too high, never too low.
    guard pwrite(lock, text, text.count, 0) == text.count else { throw StateFailure("write", lockPath) }
  }

  /// The names of the files of end-points, in any order.
  func names() throws(StateFailure) -> [String] {
    guard let folder = opendir(path) else { throw StateFailure("read", path) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      // The name ends with a zero byte, and the entry is valid until the next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name.contains(":") { names.append(name) }
    }
    return names
  }

  /// Removes the files that are past. If there are still as many as there may be, those that end first are removed too,
  /// a tenth of all, so that this does not happen at each write. Returns the number of files that are left.
  private func sweep(at now: Int64) throws(StateFailure) -> Int {
    var kept: [(end: Int64, name: String)] = []
    for name in try names() {
      var status = stat()
      guard lstat(path + "/" + name, &status) == 0 else { continue }
      let end = modified(status)
      if status.st_mode & S_IFMT != S_IFREG || end <= now || end > now + Self.longest {
        remove(name)
      } else {
        kept.append((end, name))
      }
    }
    guard kept.count >= capacity else { return kept.count }
    kept.sort { $0.end < $1.end }
    let excess = kept.count - capacity + max(1, capacity / 10)
    for file in kept.prefix(excess) { remove(file.name) }
    return kept.count - min(excess, kept.count)
  }

  /// A file that is to last longer has a time from the future.
  private static let longest = Remembered.Program.longestWindow / 1000 + 86_400

  private func modified(_ status: stat) -> Int64 {
    #if canImport(Darwin)
    Int64(status.st_mtimespec.tv_sec)
    #else
    Int64(status.st_mtim.tv_sec)
    #endif
  }
}

// Lets the methods above call the system functions of the same names.
private func systemWrite(_ descriptor: Int32, _ bytes: [UInt8]) -> Int { write(descriptor, bytes, bytes.count) }

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}
