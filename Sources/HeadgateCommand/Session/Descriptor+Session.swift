import CHeadgate
import HeadgateDispatch
import HeadgateLibC

// File operations for sessions: durability and identity.

extension Descriptor {
  /// Opens a journal for reading and appending, or creates it, and locks it against other runs until it is
  /// unlocked or closed.
  ///
  /// - Throws: `EWOULDBLOCK` if another run has locked it, `EINVAL` if it is not a regular file, and `EPERM` if another
  ///   user owns it, who could read the URLs or add false results.
  static func openJournal(_ path: String) throws(SystemError) -> Int32 {
    let opened = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard opened >= 0 else { throw .last }
    guard isRegularFile(opened) else {
      close(opened)
      throw SystemError(errno: EINVAL)
    }
    guard isOwn(opened) else {
      close(opened)
      throw SystemError(errno: EPERM)
    }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      let error = SystemError.last
      close(opened)
      throw error
    }
    return opened
  }

  /// Lets another run lock a journal.
  static func unlock(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }

  /// Opens a folder, for ``sync(_:)``.
  static func openFolder(_ path: String) throws(SystemError) -> Int32 {
    let opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw .last }
    return opened
  }

  /// Writes the entries of a folder to the disk.
  static func syncFolder(_ path: String) throws(SystemError) {
    let opened = try openFolder(path)
    defer { Descriptor.close(opened) }
    try sync(opened)
  }

  /// Opens an existing part file for writing at an offset, and locks it against other runs until it is closed. Data
  /// after the offset is cut off. Close it only after it has its final name.
  ///
  /// - Parameter noted: The inode number of the file.
  /// - Returns: The file and its inode number.
  /// - Throws: `EWOULDBLOCK` if another run is writing the file, or has replaced it.
  static func openPart(
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
  static func createPart(
    _ path: String, replacing isOwn: PartOwner
  ) throws(SystemError) -> (part: Int32, inode: UInt64) {
    let new = O_WRONLY | O_CREAT | O_EXCL
    do throws(SystemError) { return try lockPart(path, new) } catch { guard error.errno == EEXIST else { throw error } }
    // It stays open until the new file exists, which therefore has another inode number.
    let earlier = try lockPart(path, O_WRONLY)
    defer { close(earlier.part) }
    guard isOwn(earlier.inode) else { throw SystemError(errno: EEXIST) }
    guard unlink(path) == 0 else { throw .last }
    do throws(SystemError) {
      return try lockPart(path, new)
    } catch {
      throw error.errno == EEXIST ? SystemError(errno: EWOULDBLOCK) : error
    }
  }

  /// Throws `EEXIST` if there is a part file that must not be replaced.
  static func checkPart(_ path: String, _ isOwn: PartOwner) throws(SystemError) {
    if let found = found(path), !isOwn(found.inode) { throw SystemError(errno: EEXIST) }
  }

  private static func lockPart(
    _ path: String, _ flags: Int32
  ) throws(SystemError) -> (part: Int32, inode: UInt64) {
    let opened = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard opened >= 0 else { throw .last }
    do throws(SystemError) {
      // A file system without locks can't tell runs apart.
      guard flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw .last }
      // Until it was locked, another run may have removed it, given it its final name, or begun it anew.
      let inode = try found(opened).inode
      guard found(path)?.inode == inode else { throw SystemError(errno: EWOULDBLOCK) }
      return (opened, inode)
    } catch {
      close(opened)
      throw error
    }
  }

  /// Cuts off what a part file has after an offset, and goes on there.
  static func cutPart(_ part: Int32, at offset: Int) throws(SystemError) {
    guard ftruncate(part, off_t(offset)) == 0, lseek(part, off_t(offset), SEEK_SET) >= 0 else { throw .last }
  }

  /// Removes a part file, if that may be replaced and no other run is writing it.
  static func removePart(_ path: String, _ isOwn: PartOwner) {
    guard let (part, inode) = try? lockPart(path, O_WRONLY) else { return }
    if isOwn(inode) { unlink(path) }
    close(part)
  }

  /// Returns once all written data is on disk. File systems without support for this are assumed to be safe.
  static func sync(_ descriptor: Int32) throws(SystemError) {
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

  /// A file's size and inode number. Nil if it does not exist.
  static func found(_ path: String) -> SessionState.Found? {
    var info = stat()
    guard lstat(path, &info) == 0 else { return nil }
    return SessionState.Found(size: Int(info.st_size), inode: UInt64(info.st_ino))
  }

  static func found(_ descriptor: Int32) throws(SystemError) -> SessionState.Found {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { throw .last }
    return SessionState.Found(size: Int(info.st_size), inode: UInt64(info.st_ino))
  }

  /// Gives a part file its final name.
  ///
  /// - Throws: `EEXIST` if a file has that name and must not be replaced, or is not a regular file.
  static func movePart(of name: String, in folder: String, replacing: Bool) throws(SystemError) {
    let path = FileName.path(name, in: folder)
    if !replacing {
      let error = headgate_rename_exclusively(path + ".part", path)
      if error == 0 { return }
      // Not every file system can do that. On one that can't, such as NFS, a file that appears just now is replaced.
      guard error != EEXIST, found(path) == nil else { throw SystemError(errno: EEXIST) }
    } else if !FileDestination.mayReplace(path) {
      throw SystemError(errno: EEXIST)
    }
    guard rename(path + ".part", path) == 0 else { throw .last }
  }

  /// An identifier of the machine's last boot. Nil if the system has none.
  static func boot() -> String? {
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
