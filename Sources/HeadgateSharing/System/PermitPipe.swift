// A permit is a named pipe: a process that has it open for writing holds the permit. The kernel closes the pipe when
// the last process that has it dies, commands that a program starts inherit it, and a server that starts later finds
// it.
//
// Rejected: the connection itself as the permit, because the permit would end with the server; a lock on a file,
// because no event reports its release; the process's number, because it says nothing about the processes that it
// started.

import HeadgateGate
import HeadgateLibC

/// The server's end of a permit's pipe.
struct PermitPipe {
  /// Ready to be read when no writer is left.
  let reader: Int32
  /// The server's own writing end, until the program has the pipe.
  private(set) var guardEnd: Int32

  /// Creates a pipe, and opens both ends.
  static func create(at path: String) throws(SystemFailure) -> PermitPipe {
    guard mkfifo(path, 0o600) == 0 else { throw SystemFailure("create \(ShownText.of(path))") }
    do throws(SystemFailure) {
      // Opening the writing end would wait for a reader, so the reader comes first.
      let reader = try open(path, O_RDONLY)
      do throws(SystemFailure) {
        return PermitPipe(reader: reader, guardEnd: try open(path, O_WRONLY))
      } catch {
        close(reader)
        throw error
      }
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Opens an earlier server's pipe for reading. Nil if the pipe does not exist.
  static func inherit(from path: String) throws(SystemFailure) -> PermitPipe? {
    do throws(SystemFailure) {
      return PermitPipe(reader: try open(path, O_RDONLY), guardEnd: -1)
    } catch {
      if error.number == ENOENT { return nil }
      throw error
    }
  }

  /// Opens a pipe for writing, which takes the permit.
  ///
  /// - Throws: ENXIO if the server has gone, ENOENT if the permit has ended.
  static func take(_ path: String) throws(SystemFailure) -> Int32 { try open(path, O_WRONLY) }

  /// Whether some process has it open for writing, or has written something that is not read yet.
  var hasWriter: Bool {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      // The pointer does not leave the closure, and its length is passed along.
      let count = bytes.withUnsafeMutableBytes { read(reader, $0.baseAddress, $0.count) }
      // What a holder has written means nothing. It is read in parts, so that a program that writes endlessly does not
      // occupy the server's thread: the pipe stays ready, and the end is seen after the last part.
      if count >= 0 { return count > 0 }
      if errno != EINTR { return true }
    }
  }

  /// Closes the server's own writing end.
  mutating func unguard() {
    if guardEnd >= 0 { close(guardEnd) }
    guardEnd = -1
  }

  mutating func closeAll() {
    unguard()
    close(reader)
  }

  private static func open(_ path: String, _ mode: Int32) throws(SystemFailure) -> Int32 {
    while true {
      let descriptor = platformOpen(path, mode | O_NONBLOCK | O_CLOEXEC)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw SystemFailure("open \(ShownText.of(path))") }
    }
  }
}

private func platformOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
