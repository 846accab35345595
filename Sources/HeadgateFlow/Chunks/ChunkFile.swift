import HeadgateLibC

/// A file that is read in chunks, up to the length that it had when it was opened. Its calls block.
final class ChunkFile: Sendable {
  /// Its length in bytes when it was opened.
  let total: Int
  private let path: String
  private let descriptor: Int32

  init(_ path: String) throws(ChunkFileError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ChunkFileError(path: path, operation: "open", errno: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw ChunkFileError(path: path, operation: "open", errno: number)
    }
    self.path = path
    self.descriptor = descriptor
    total = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads `count` bytes from an offset, or fewer if the file ends earlier.
  func read(_ count: Int, at offset: Int) throws(ChunkFileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        pread(descriptor, buffer.baseAddress?.advanced(by: filled), count - filled, off_t(offset + filled))
      }
      if got == 0 { break }
      if got > 0 {
        filled += got
      } else if errno != EINTR {
        throw ChunkFileError(path: path, operation: "read", errno: errno)
      }
    }
    bytes.removeLast(count - filled)
    return bytes
  }
}
