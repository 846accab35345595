import CHeadgate
import HeadgateLibC

/// A file being written: named `name.part` beside its destination, and renamed when it is complete, so that an
/// incomplete file never appears under the final name.
///
/// The file is locked until it has its final name, except while its request waits for another attempt.
struct PartFile: ~Copyable {
  private let destination: FileDestination
  private let partPath: String
  /// Nil while another request is awaited.
  private var descriptor: Int32?
  private let inode: UInt64
  private let numbers: FileNumbers

  /// Creates the part file exclusively: two bodies with the same name get two part files.
  init(for destination: FileDestination, numbers: FileNumbers = .shared) throws(DispatchError) {
    self.destination = destination
    self.numbers = numbers
    if destination.collision == .replace { try Self.checkMayReplace(destination.path) }
    let name = destination.path
    let created = try numbers.claim(name + ".part", below: 100_000) {
      number throws(DispatchError) -> (path: String, file: (part: Int32, inode: UInt64))? in
      let path = name + (number == 0 ? ".part" : ".\(number).part")
      do throws(SystemError) { return try Descriptor.createPart(path).map { (path, $0) } } catch {
        throw .unwritten(path, error, creating: true)
      }
    }
    guard let created else { throw Self.allTaken(name + ".part") }
    (partPath, descriptor) = (created.path, created.file.part)
    inode = created.file.inode
  }

  /// Writes all bytes. Blocks.
  borrowing func append(_ bytes: [UInt8]) throws(DispatchError) {
    let file = try opened()
    do throws(SystemError) { try Descriptor.write(bytes, to: file) } catch { throw .unwritten(partPath, error) }
  }

  private borrowing func opened() throws(DispatchError) -> Int32 {
    guard let descriptor else { throw .unwritten(partPath, SystemError(errno: EBADF)) }
    return descriptor
  }

  /// Removes what it has after an offset, and goes on there.
  mutating func goOn(at offset: Int) throws(DispatchError) {
    do throws(SystemError) {
      if let descriptor { return try Descriptor.cutPart(descriptor, at: offset) }
      descriptor = try Descriptor.openPart(partPath, at: offset, of: inode).part
    } catch { throw .unwritten(partPath, error) }
  }

  /// Closes the file until ``goOn(at:)``. It is not locked meanwhile, but no program replaces a part that is not its own.
  mutating func suspend() { if let descriptor = descriptor.take() { close(descriptor) } }

  /// The checksum of its bytes.
  borrowing func checksum() throws(DispatchError) -> Checksum {
    do throws(SystemError) { return try Checksum(ofFile: partPath) } catch { throw .unwritten(partPath, error) }
  }

  /// Closes the file and renames it. Returns the final path.
  ///
  /// - Parameter modified: The modification time, in seconds since 1970. Nil for now.
  consuming func finish(modified: Int? = nil) throws(DispatchError) -> String {
    let file = try opened()
    do throws(DispatchError) {
      let path = try Self.finish(file, at: partPath, modified: modified, syncs: destination.syncs) {
        () throws(DispatchError) in try giveName()
      }
      if destination.syncs { try Self.syncFolder(of: path) }
      return path
    } catch {
      unlink(partPath)
      throw error
    }
  }

  /// Closes a complete part, gives it its name, and unlocks it then.
  static func finish<Name>(
    _ part: Int32, at partPath: String, modified: Int?, syncs: Bool, _ giveName: () throws(DispatchError) -> Name
  ) throws(DispatchError) -> Name {
    // A file system that can't store it has the file all the same.
    if let modified { _ = headgate_set_modified(part, Int64(modified)) }
    // The lock lasts until both descriptors are closed.
    let lock = dup(part)
    defer { if lock >= 0 { close(lock) } }
    if syncs {
      do throws(SystemError) { try Descriptor.sync(part) } catch {
        close(part)
        throw .unwritten(partPath, error)
      }
    }
    // `close` is the last call to report data that a network file system could not store.
    guard close(part) == 0 || errno == EINTR else { throw failure("closing", partPath) }
    return try giveName()
  }

  /// Removes and closes it.
  consuming func discard() {
    if let descriptor {
      unlink(partPath)
      close(descriptor)
    } else {
      _ = Descriptor.removePart(partPath) { [inode] in $0 == inode }
    }
  }

  private borrowing func giveName() throws(DispatchError) -> String {
    if destination.collision == .replace {
      try Self.replace(destination.path, with: partPath)
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

  /// Gives a part its final name, in place of a regular file.
  static func replace(_ path: String, with partPath: String) throws(DispatchError) {
    try checkMayReplace(path)
    guard rename(partPath, path) == 0 else { throw failure("renaming", partPath) }
  }

  /// Throws if anything but a regular file has the path. Checked before the first bytes, and again before the rename,
  /// since another program may create something there meanwhile.
  static func checkMayReplace(_ path: String) throws(DispatchError) {
    guard !FileDestination.mayReplace(path) else { return }
    throw DispatchError(.fileFailed, phase: .writing, detail: "\(path) is not a regular file and is not replaced")
  }

  /// Returns once the name of a file is on disk.
  static func syncFolder(of path: String) throws(DispatchError) {
    do throws(SystemError) { try Descriptor.syncFolder(Descriptor.parent(of: path)) } catch {
      throw .unwritten(path, error)
    }
  }

  private static func allTaken(_ name: String) -> DispatchError {
    DispatchError(.fileFailed, phase: .writing, detail: "all numbers for \(name) are taken")
  }

  private static func failure(_ action: String, _ path: String) -> DispatchError {
    let error = SystemError.last
    return DispatchError(
      .fileFailed, phase: .writing, detail: "\(action) \(path): \(error)", underlyingError: error)
  }
}

/// Stores a body in a new file. Nothing remembers its part, which is removed if the body stays incomplete.
final class NewFile: BodyStore {
  private let destination: FileDestination
  private var file: PartFile?

  init(_ destination: FileDestination) { self.destination = destination }

  func begin(_ validator: Validator) { drop() }

  func goOn(after part: PartialBody) throws(DispatchError) { try file?.goOn(at: part.size) }

  func suspend() { file?.suspend() }

  func append(_ bytes: [UInt8]) throws(DispatchError) {
    if file == nil { file = try PartFile(for: destination) }
    try file?.append(bytes)
  }

  func checksum() throws(DispatchError) -> Checksum { try file?.checksum() ?? Checksum(SHA256()) }

  func finish(
    _ body: CompleteBody, _ completion: @escaping @Sendable (Result<String, DispatchError>) -> Void
  ) {
    do throws(DispatchError) {
      try append(body.rest)
      completion(.success(try named(body.modified)))
    } catch {
      drop()
      completion(.failure(error))
    }
  }

  private func named(_ modified: Int?) throws(DispatchError) -> String {
    guard let file = file.take() else { return try PartFile(for: destination).finish(modified: modified) }
    return try file.finish(modified: modified)
  }

  func leave(_ rest: [UInt8]) { drop() }

  func drop() { file.take()?.discard() }
}
