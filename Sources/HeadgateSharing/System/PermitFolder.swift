import HeadgateGate
import HeadgateLibC
import HeadgateThreads

/// The folder through which the programs of one user share permits: a socket, a lock, and a pipe for each permit.
///
/// Only its owner may use it.
public struct PermitFolder: Sendable, Hashable, CustomStringConvertible {
  /// The path.
  public let path: String

  /// A separate folder, for programs that share permits only with each other. Created at its first use.
  ///
  /// - Parameter path: An absolute path of at most 80 bytes.
  public init(path: String) { self.path = path }

  /// The folder of the current user on this machine: `/tmp/headgate-UID`, or `$HEADGATE_FOLDER`.
  ///
  /// The user's number (`geteuid`) decides, and no other variable: a cron job, a service and a login shell share, although
  /// `XDG_RUNTIME_DIR` and `TMPDIR` differ.
  public static var user: PermitFolder { user { getenv($0).map { String(cString: $0) } } }

  // Rejected: /run/user/UID, which is removed when the user's last session ends; the home folder, which several machines
  // may share.
  static func user(environment: (String) -> String?) -> PermitFolder {
    if let chosen = environment("HEADGATE_FOLDER"), !chosen.isEmpty { return PermitFolder(path: chosen) }
    return usual
  }

  /// The folder of the current user, if no other one was chosen.
  package static var usual: PermitFolder { PermitFolder(path: "/tmp/headgate-\(geteuid())") }

  /// What to tell the user of this folder if programs of an earlier version share permits elsewhere at the moment: they
  /// looked for their folder in `XDG_RUNTIME_DIR` and `TMPDIR`. Nil for a folder that was chosen.
  package var remark: String? { remark { getenv($0).map { String(cString: $0) } } }

  func remark(environment: (String) -> String?) -> String? {
    guard self == Self.usual else { return nil }
    let runtime = [environment("XDG_RUNTIME_DIR"), "/run/user/\(geteuid())"].compactMap(\.self).map { $0 + "/headgate" }
    let temporary = environment("TMPDIR").map { $0 + ($0.hasSuffix("/") ? "" : "/") + "headgate-\(geteuid())" }
    for former in runtime + [temporary].compactMap(\.self) where former != path {
      let folder = PermitFolder(path: former)
      guard let socket = try? folder.connect() else { continue }
      StreamSocket.close(socket)
      return "programs of an earlier version share permits in \(folder), and this one in \(self): limits hold for each "
        + "group alone. HEADGATE_FOLDER=\(folder) joins them."
    }
    return nil
  }

  /// The path.
  public var description: String { ShownText.of(path) }

  var socket: String { path + "/socket" }
  var lock: String { path + "/lock" }
  /// Locked by the program that starts a server.
  var starting: String { path + "/starting" }
  var permits: String { path + "/permits" }
  func pipe(_ id: UInt64) -> String { "\(permits)/\(id)" }
  /// The path of a pipe while its server checks whether a program has opened it at the last moment.
  func ending(_ id: UInt64) -> String { "\(permits)/\(id).end" }
  func record(_ id: UInt64) -> String { "\(permits)/\(id).ask" }

  /// Creates the folder, and checks that no other user can use it.
  func prepare() throws(SystemFailure) {
    guard path.hasPrefix("/") else { throw SystemFailure("use \(self), which is not an absolute path", EINVAL) }
    for path in [path, permits] {
      if mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemFailure("create \(ShownText.of(path))") }
      try Self.check(path)
    }
  }

  /// Connects to the server. In a folder that another user has made, a server of that user may listen.
  ///
  /// - Throws: ENOENT or ECONNREFUSED if no server runs, EPERM if the folder is not only the user's.
  func connect() throws(SystemFailure) -> Int32 {
    try Self.check(path)
    return try LocalSocket.connect(to: socket)
  }

  private static func check(_ path: String) throws(SystemFailure) {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw SystemFailure("use \(ShownText.of(path))") }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw SystemFailure("use \(ShownText.of(path)), which belongs to another user or is open to others", EPERM)
    }
  }

  /// Keeps systemd-tmpfiles, which empties /tmp of what is old, from this folder until the descriptors are closed: a folder
  /// that is locked is not cleaned (tmpfiles.d(5)).
  func keep() -> [Int32] {
    [path, permits].compactMap { path in
      let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if folder >= 0 { flock(folder, LOCK_SH | LOCK_NB) }
      return folder >= 0 ? folder : nil
    }
  }

  /// The numbers of the permits whose pipes are in the folder. A pipe gets its name back if its server was killed while
  /// it checked the pipe, so this is for a new server only.
  func recoverPermitNumbers() throws(SystemFailure) -> [UInt64] {
    guard let names = SmallFile.names(in: permits) else { throw SystemFailure("read \(ShownText.of(permits))") }
    let numbers = names.compactMap { UInt64($0) }
    let ending = names.filter { $0.hasSuffix(".end") }.compactMap { UInt64($0.dropLast(4)) }
    // A program may have opened these pipes at the last moment.
    for number in ending { rename(self.ending(number), pipe(number)) }
    return (numbers + ending).sorted()
  }
}
