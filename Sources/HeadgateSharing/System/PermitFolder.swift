import HeadgateGate
import HeadgateLibC

/// The folder through which the programs of one user share permits: a socket, a lock, and a pipe for each permit.
///
/// Only its owner may use it. It is in the user's runtime folder, which the system empties at each start.
public struct PermitFolder: Sendable, Hashable, CustomStringConvertible {
  /// The path.
  public let path: String

  /// A separate folder, for programs that share permits only with each other. Created at its first use.
  ///
  /// - Parameter path: An absolute path of at most 80 bytes.
  public init(path: String) { self.path = path }

  /// The folder of the current user: `$XDG_RUNTIME_DIR/headgate`, or `headgate-UID` in the folder for temporary files.
  public static var user: PermitFolder {
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
      return PermitFolder(path: runtime + "/headgate")
    }
    var temporary = environment("TMPDIR") ?? "/tmp"
    while temporary.hasSuffix("/"), temporary.count > 1 { temporary.removeLast() }
    return PermitFolder(path: "\(temporary)/headgate-\(geteuid())")
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// The path.
  public var description: String { ShownText.of(path) }

  var socket: String { path + "/socket" }
  var lock: String { path + "/lock" }
  var permits: String { path + "/permits" }
  func pipe(_ id: UInt64) -> String { "\(permits)/\(id)" }
  /// The path of a pipe while its server checks whether a program has opened it at the last moment.
  func ending(_ id: UInt64) -> String { "\(permits)/\(id).end" }
  func record(_ id: UInt64) -> String { "\(permits)/\(id).ask" }

  /// Creates the folder, and checks that no other user can use it.
  func prepare() throws(SystemFailure) {
    for path in [path, permits] {
      if mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemFailure("create \(ShownText.of(path))") }
      var status = stat()
      guard lstat(path, &status) == 0 else { throw SystemFailure("use \(ShownText.of(path))") }
      guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
        throw SystemFailure("use \(ShownText.of(path)), which belongs to another user or is writable for others", EPERM)
      }
    }
  }

  /// The numbers of the permits whose pipes are in the folder. A pipe gets its name back if its server was killed while
  /// it checked the pipe, so this is for a new server only.
  func recoverPermitNumbers() throws(SystemFailure) -> [UInt64] {
    guard let folder = opendir(permits) else { throw SystemFailure("read \(ShownText.of(permits))") }
    defer { closedir(folder) }
    var numbers: [UInt64] = []
    var ending: [UInt64] = []
    while let entry = readdir(folder) {
      // The name ends with a zero byte, and the entry is valid until the next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if let number = UInt64(name) { numbers.append(number) }
      if name.hasSuffix(".end"), let number = UInt64(name.dropLast(4)) { ending.append(number) }
    }
    // A program may have opened these pipes at the last moment.
    for number in ending { rename(self.ending(number), pipe(number)) }
    return (numbers + ending).sorted()
  }
}
