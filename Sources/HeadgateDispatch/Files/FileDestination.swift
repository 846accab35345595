import HeadgateLibC

/// Where to store a body, and what happens if the file already exists. The folder must exist: otherwise the request
/// fails with `fileFailed`.
public struct FileDestination: Sendable, Hashable {
  enum Collision { case number, replace }

  /// The requested path.
  public let path: String
  let collision: Collision

  /// Whether the file gets the time of the response's `Last-Modified` as its modification time, if the response has one.
  /// Default: false, the time at which it is written.
  public var keepsServerTime = false

  /// The checksum that the body of a success must have, be it empty. If it has another one, its file is removed, and the
  /// request fails with `badResponse` and a ``ChecksumError``; it is not sent again. The checksum is calculated as the
  /// bytes are written, so the file is not read. Default: nil, none.
  public var checksum: Checksum?

  init(path: String, collision: Collision) { (self.path, self.collision) = (path, collision) }

  /// A file at `path`. An existing file stays, and the new one is named `path.1`, `path.2` and so on. Above the first
  /// few numbers, a number already used in this process may be skipped, even if its file is gone.
  public static func numbered(_ path: String) -> FileDestination {
    FileDestination(path: path, collision: .number)
  }

  /// A file at `path` that replaces an existing file once it is complete. Anything other than a regular file, such as
  /// a folder or a device, stays, and the request fails with `fileFailed`.
  public static func replacing(_ path: String) -> FileDestination {
    FileDestination(path: path, collision: .replace)
  }

  /// Whether a path is free, or leads to a regular file, which may be replaced, or to a link to one. With superuser
  /// rights, rename would replace a device, or a link to one (`/dev/stdout`), with a file.
  package static func mayReplace(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
  }
}
