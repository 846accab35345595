import CHeadgate
import HeadgateLibC

/// A file being written: named `name.part` beside its destination, and renamed when it is complete, so that an
/// incomplete file never appears under the final name.
///
/// The file is locked until it has its final name. A program that looks for parts left behind skips locked ones.
struct PartFile: ~Copyable {
  private let destination: FileDestination
  private let partPath: String
  private let descriptor: Int32
  private let numbers: FileNumbers

  /// Creates the part file exclusively: two bodies with the same name get two part files.
  init(for destination: FileDestination, numbers: FileNumbers = .shared) throws(DispatchError) {
    self.destination = destination
    self.numbers = numbers
    // Checked again before the rename, since another program may create something there meanwhile.
    try Self.mustBeReplaceable(destination)
    let name = destination.path
    let created = try numbers.claim(name + ".part", below: 100_000) {
      number throws(DispatchError) -> (path: String, descriptor: Int32)? in
      let path = name + (number == 0 ? ".part" : ".\(number).part")
      let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      if opened >= 0 {
        if Self.lock(opened, path) { return (path, opened) }
        close(opened)
        return nil
      }
      guard errno == EEXIST else { throw Self.failure("creating", path) }
      return nil
    }
    guard let created else { throw Self.allTaken(name + ".part") }
    (partPath, descriptor) = (created.path, created.descriptor)
  }

  /// Locks a new file. Returns false if another program took it for one that was left behind, and has locked or removed
  /// it. A file system without locks stores the file all the same.
  private static func lock(_ descriptor: Int32, _ path: String) -> Bool {
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { return false }
    var (own, found) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && lstat(path, &found) == 0 && own.st_ino == found.st_ino
  }

  /// Writes all bytes. Blocks.
  borrowing func append(_ bytes: [UInt8]) throws(DispatchError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer -> Int in
        guard let base = buffer.baseAddress else { return 0 }
        return write(descriptor, base + written, buffer.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.failure("writing", partPath) }
      written += count
    }
  }

  /// Closes the file and renames it. Returns the final path.
  ///
  /// - Parameter modified: The modification time, in seconds since 1970. Nil for now.
  consuming func finish(modified: Int? = nil) throws(DispatchError) -> String {
    // A file system that can't store it has the file all the same.
    if let modified { _ = headgate_set_modified(descriptor, Int64(modified)) }
    // The lock lasts until both descriptors are closed.
    let lock = dup(descriptor)
    defer { if lock >= 0 { close(lock) } }
    do throws(DispatchError) {
      // `close` is the last call to report data that a network file system could not store.
      guard close(descriptor) == 0 || errno == EINTR else { throw Self.failure("closing", partPath) }
      return try giveName()
    } catch {
      unlink(partPath)
      throw error
    }
  }

  /// Removes and closes it.
  consuming func discard() {
    unlink(partPath)
    close(descriptor)
  }

  private borrowing func giveName() throws(DispatchError) -> String {
    if destination.collision == .replace {
      try Self.mustBeReplaceable(destination)
      guard rename(partPath, destination.path) == 0 else { throw Self.failure("renaming", partPath) }
      return destination.path
    }
    let name = destination.path
    let claimed = try numbers.claim(name, below: 1_000_000) { number throws(DispatchError) in
      try giveName(name + (number == 0 ? "" : ".\(number)"))
    }
    guard let claimed else { throw Self.allTaken(name) }
    return claimed
  }

  /// Renames the file without replacing another one. Returns nil if the name is taken.
  private borrowing func giveName(_ path: String) throws(DispatchError) -> String? {
    switch headgate_rename_exclusively(partPath, path) {
    case 0: return path
    case EEXIST: return nil
    default: break
    }
    // For file systems that can't, such as NFS: unlike rename(2), link(2) never replaces an existing file.
    if link(partPath, path) == 0 {
      unlink(partPath)
      return path
    }
    if errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK { return try giveNameWithoutLink(path) }
    guard errno == EEXIST else { throw Self.failure("naming", path) }
    return nil
  }

  /// For file systems without hard links: claims the name with an empty file, then replaces that file.
  private borrowing func giveNameWithoutLink(_ path: String) throws(DispatchError) -> String? {
    let claim = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard claim >= 0 else {
      guard errno == EEXIST else { throw Self.failure("naming", path) }
      return nil
    }
    close(claim)
    guard rename(partPath, path) == 0 else {
      let failure = Self.failure("renaming", partPath)
      unlink(path)
      throw failure
    }
    return path
  }

  private static func mustBeReplaceable(_ destination: FileDestination) throws(DispatchError) {
    guard destination.collision == .replace, !FileDestination.mayReplace(destination.path) else { return }
    throw DispatchError(
      .fileFailed, phase: .writing, detail: "\(destination.path) is not a regular file and is not replaced")
  }

  private static func allTaken(_ name: String) -> DispatchError {
    DispatchError(.fileFailed, phase: .writing, detail: "all numbers for \(name) are taken")
  }

  private static func failure(_ action: String, _ path: String) -> DispatchError {
    // The file is new, so that only its folder can be missing.
    let reason =
      errno == ENOENT && action == "creating" ? "its folder does not exist" : String(cString: strerror(errno))
    return DispatchError(.fileFailed, phase: .writing, detail: "\(action) \(path): \(reason)")
  }
}
