import Foundation

/// Sockets with a path.
enum UnixSocket {
  static func connect(_ path: String) throws -> Int32 {
    let line = try create()
    guard withAddress(path, { Foundation.connect(line, $0, $1) }) == 0 else {
      close(line)
      throw POSIXError(.ECONNREFUSED)
    }
    return line
  }

  static func listen(_ path: String) throws -> Int32 {
    let listener = try create()
    unlink(path)
    guard withAddress(path, { bind(listener, $0, $1) }) == 0, Foundation.listen(listener, 64) == 0 else {
      throw POSIXError(.EADDRINUSE)
    }
    return listener
  }

  private static func create() throws -> Int32 {
    #if canImport(Darwin)
    let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #else
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
    return descriptor
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
