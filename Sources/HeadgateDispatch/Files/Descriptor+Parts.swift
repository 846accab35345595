import HeadgateLibC

// Part files: `name.part` is locked while it is written, and replaced only by its owner.

/// Whether the part file with an inode number may be replaced.
package typealias PartOwner = @Sendable (_ inode: UInt64) -> Bool

/// A file that exists.
package struct FoundFile: Hashable, Sendable {
  package var size: Int
  package var inode: UInt64

  package init(size: Int, inode: UInt64) { (self.size, self.inode) = (size, inode) }
}

extension Descriptor {
  /// A file's size and inode number. Nil if it does not exist.
  package static func found(_ path: String) -> FoundFile? {
    var info = stat()
    guard lstat(path, &info) == 0 else { return nil }
    return FoundFile(size: Int(info.st_size), inode: UInt64(info.st_ino))
  }

  /// Whether a path is that of a regular file that no other user can have put there: it is this user's, or only its
  /// folder's owner can write to its folder. (Some file systems map all owners to one.)
  static func isOwnFile(_ path: String) -> Bool {
    var (info, folder) = (stat(), stat())
    guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return false }
    return info.st_uid == geteuid()
      || stat(parent(of: path), &folder) == 0 && folder.st_uid == info.st_uid && folder.st_mode & 0o022 == 0
  }

  package static func found(_ descriptor: Int32) throws(SystemError) -> FoundFile {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { throw .last }
    return FoundFile(size: Int(info.st_size), inode: UInt64(info.st_ino))
  }

  /// Opens an existing part file for writing at an offset, and locks it against other runs until it is closed. Data
  /// after the offset is cut off. Close it only after it has its final name.
  ///
  /// - Parameter noted: The inode number of the file.
  /// - Returns: The file and its inode number.
  /// - Throws: `EWOULDBLOCK` if another run is writing the file, or has replaced it.
  package static func openPart(
    _ path: String, at offset: Int, of noted: UInt64?
  ) throws(SystemError) -> (part: Int32, inode: UInt64) {
    let opened = try lockPart(path, O_WRONLY)
    do throws(SystemError) {
      let hasRoom = try found(opened.part).size >= offset
      guard hasRoom, opened.inode == noted else { throw SystemError(errno: EWOULDBLOCK) }
      try cutPart(opened.part, at: offset)
      return opened
    } catch {
      close(opened.part)
      throw error
    }
  }

  /// Creates a part file, in place of an earlier one if that may be replaced, and locks it like ``openPart(_:at:of:)``.
  /// An earlier file is not written over: a session whose journal names it would continue these bytes as its own.
  ///
  /// - Throws: `EEXIST` if there is a file that must not be replaced, `EWOULDBLOCK` if another run is writing it.
  package static func createPart(
    _ path: String, replacing isOwn: PartOwner
  ) throws(SystemError) -> (part: Int32, inode: UInt64) {
    // Nearly always there is none, so this is tried first.
    if let new = try createPart(path) { return new }
    let earlier = try lockEarlierPart(path, isOwn)
    defer { if let earlier { close(earlier) } }
    return try createPart(path, inPlaceOf: earlier)
  }

  /// Opens and locks the part file that a new one is to replace. Returns nil if no file has the path.
  ///
  /// - Throws: as ``createPart(_:replacing:)``.
  static func lockEarlierPart(_ path: String, _ isOwn: PartOwner) throws(SystemError) -> Int32? {
    guard let found = found(path) else { return nil }
    // Before it is opened, which may fail for one of another user.
    guard isOwn(found.inode) else { throw SystemError(errno: EEXIST) }
    let earlier: (part: Int32, inode: UInt64)
    do throws(SystemError) { earlier = try lockPart(path, O_WRONLY) } catch {
      guard error.errno == ENOENT else { throw error }
      return nil
    }
    guard isOwn(earlier.inode) else {
      close(earlier.part)
      throw SystemError(errno: EEXIST)
    }
    return earlier.part
  }

  /// Creates a part file.
  ///
  /// - Parameter earlier: The file that it replaces. That stays open until the new one exists, which therefore has another
  ///   inode number.
  static func createPart(
    _ path: String, inPlaceOf earlier: Int32?
  ) throws(SystemError) -> (part: Int32, inode: UInt64) {
    guard earlier == nil || unlink(path) == 0 else { throw .last }
    do throws(SystemError) { return try lockPart(path, O_WRONLY | O_CREAT | O_EXCL) } catch {
      throw error.errno == EEXIST ? SystemError(errno: EWOULDBLOCK) : error
    }
  }

  /// Creates a part file if nothing has its name. Nil if the name is taken.
  static func createPart(_ path: String) throws(SystemError) -> (part: Int32, inode: UInt64)? {
    do throws(SystemError) { return try lockPart(path, O_WRONLY | O_CREAT | O_EXCL) } catch {
      // Another program took the new file for one that was left behind, and has locked or removed it.
      guard error.errno == EEXIST || error.errno == EWOULDBLOCK else { throw error }
      return nil
    }
  }

  /// Throws `EEXIST` if there is a part file that must not be replaced.
  package static func checkPart(_ path: String, _ isOwn: PartOwner) throws(SystemError) {
    if let found = found(path), !isOwn(found.inode) { throw SystemError(errno: EEXIST) }
  }

  private static func lockPart(
    _ path: String, _ flags: Int32
  ) throws(SystemError) -> (part: Int32, inode: UInt64) {
    // Does not wait for the other end of a pipe that somebody has put there.
    let opened = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o666)
    guard opened >= 0 else { throw .last }
    do throws(SystemError) {
      // A file system without locks can't tell runs apart.
      guard flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw .last }
      // Until it was locked, another run may have removed it, given it its final name, or begun it anew.
      var info = stat()
      guard fstat(opened, &info) == 0 else { throw .last }
      guard info.st_mode & S_IFMT == S_IFREG else { throw SystemError(errno: EEXIST) }
      let inode = UInt64(info.st_ino)
      guard found(path)?.inode == inode else { throw SystemError(errno: EWOULDBLOCK) }
      return (opened, inode)
    } catch {
      close(opened)
      throw error
    }
  }

  /// Cuts off what a part file has after an offset, and goes on there.
  package static func cutPart(_ part: Int32, at offset: Int) throws(SystemError) {
    guard ftruncate(part, off_t(offset)) == 0, lseek(part, off_t(offset), SEEK_SET) >= 0 else { throw .last }
  }

  /// Removes a part file, if that may be replaced and no other run is writing it. Returns whether it did.
  static func removePart(_ path: String, _ isOwn: PartOwner) -> Bool {
    guard let part = try? lockEarlierPart(path, isOwn) else { return false }
    defer { close(part) }
    return unlink(path) == 0
  }
}
