/// Where to store a body, and what happens if the file already exists. The folder must exist: otherwise the request
/// fails with `fileFailed`.
public struct FileDestination: Sendable, Hashable {
  enum Collision { case number, replace }

  /// The requested path.
  public let path: String
  let collision: Collision

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
}
