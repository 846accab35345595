/// Where a body is to be stored, and what becomes of a file that is there already.
public struct FileDestination: Sendable, Hashable {
  enum Collision { case number, replace }

  /// The path that is wished for.
  public let path: String
  let collision: Collision

  /// A file at `path`; if there is one already it stays, and the new one is called `path.1`, `path.2` and so on. Beyond
  /// the first few, a number that was given before in this process need not be given again, though its file is gone.
  public static func numbered(_ path: String) -> FileDestination {
    FileDestination(path: path, collision: .number)
  }

  /// A file at `path`, in place of one that is there already, at the moment when the new one is whole. What is
  /// there and is not a file, such as a folder or a device, stays: the error is `fileFailed`.
  public static func replacing(_ path: String) -> FileDestination {
    FileDestination(path: path, collision: .replace)
  }
}
