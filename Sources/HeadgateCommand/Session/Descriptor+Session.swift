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
}
