import HeadgateGate
import HeadgateLibC

/// Files that are read as a whole.
enum SmallFile {
  /// The bytes of a file. Nil if it does not exist.
  static func read(_ path: String) throws(SystemFailure) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw SystemFailure("open \(ShownText.of(path))")
    }
    defer { close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    while true {
      // The pointer does not leave the closure, and its length is passed along.
      let count = part.withUnsafeMutableBytes { platformRead(file, $0) }
      if count == 0 { return bytes }
      guard count > 0 || errno == EINTR else { throw SystemFailure("read \(ShownText.of(path))") }
      bytes += part[..<max(0, count)]
    }
  }

  /// The names in a folder, without those that begin with a dot. Nil if it can't be read.
  static func names(in path: String) -> [String]? {
    guard let folder = opendir(path) else { return nil }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      // The name ends with a zero byte, and the entry is valid until the next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }
}

private func platformRead(_ file: Int32, _ room: UnsafeMutableRawBufferPointer) -> Int {
  read(file, room.baseAddress, room.count)
}
