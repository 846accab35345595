import HeadgateLibC

/// Where to store a body, and what happens if the file already exists. The folder must exist: otherwise the request
/// fails with `fileFailed`.
public struct FileDestination: Sendable, Hashable {
  enum Collision { case number, replace, resume }

  /// The requested path.
  public let path: String
  let collision: Collision

  /// Whether the file gets the time of the response's `Last-Modified` as its modification time, if the response has one.
  /// Default: false, the time at which it is written.
  public var keepsServerTime = false

  /// Whether the file and its name are on disk when the download ends, so that they survive a power cut. Default: false,
  /// the system writes them when it likes.
  public var syncs = false

  /// The checksum that the body of a success must have, be it empty. If it has another one, its file is removed, and the
  /// request fails with `badResponse` and a ``ChecksumError``; it is not sent again. The checksum is calculated as the
  /// bytes are written; only the part that an earlier process has left is read, once, at the end. Default: nil, none.
  public var checksum: Checksum?

  /// Whether ``FileResponse/refusal`` has the beginning of the body of a response other than success.
  package var keepsRefusal = false

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

  /// A file at `path` that replaces an existing file once it is complete, like ``replacing(_:)``, and whose download
  /// continues after a failure, a cancellation or the end of the process.
  ///
  ///     let file = try await dispatcher.download(for: url, to: .resuming("debian.iso"), checksum: .sha256(digits))
  ///
  /// An incomplete body stays in `path.part`, with a note of its version and identity in `path.part.note`. The next
  /// download of the same URL to the same path requests the rest (`Range` with `If-Range`, RFC 9110 section 14). If the
  /// server has another version by then, or refuses the range, the body begins anew. The response's status is 206 for a
  /// body that was continued, and 416 for one of which nothing was missing; ``FileResponse/continuedFrom`` says how much
  /// was there.
  ///
  /// A part can be continued if the server names its version with a strong `ETag`, for a GET without a body and without a
  /// `Range` of your own, until the machine is restarted. One download at a time writes a part: another one fails with
  /// `fileFailed`, and so does one whose part is another program's. `dispatch(_:to:lane:policy:onProgress:completion:)`
  /// reads the note on the calling thread.
  public static func resuming(_ path: String) -> FileDestination {
    FileDestination(path: path, collision: .resume)
  }

  /// Whether a path is free, or leads to a regular file, which may be replaced, or to a link to one. With superuser
  /// rights, rename would replace a device, or a link to one (`/dev/stdout`), with a file.
  package static func mayReplace(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
  }
}
