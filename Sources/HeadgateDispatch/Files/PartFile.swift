import CHeadgate
import HeadgateLibC

/// A file being written: named `name.part` beside its destination, and renamed when it is complete, so that an
/// incomplete file never appears under the final name.
struct PartFile: ~Copyable {
  private let destination: FileDestination
  let partPath: String
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
      if opened >= 0 { return (path, opened) }
      guard errno == EEXIST else { throw Self.failure("creating", path) }
      return nil
    }
    guard let created else { throw Self.allTaken(name + ".part") }
    (partPath, descriptor) = (created.path, created.descriptor)
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
  consuming func finish() throws(DispatchError) -> String {
    do throws(DispatchError) {
      // `close` is the last call to report data that a network file system could not store.
      guard close(descriptor) == 0 || errno == EINTR else { throw Self.failure("closing", partPath) }
      return try giveName()
    } catch {
      unlink(partPath)
      throw error
    }
  }

  /// Closes and removes it.
  consuming func discard() {
    close(descriptor)
    unlink(partPath)
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

  /// Only a regular file may be replaced, or a link to one. With superuser rights, rename would replace a device, or a
  /// link to one (`/dev/stdout`), with a file.
  private static func mustBeReplaceable(_ destination: FileDestination) throws(DispatchError) {
    var status = stat()
    guard destination.collision == .replace, stat(destination.path, &status) == 0, status.st_mode & S_IFMT != S_IFREG
    else { return }
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
