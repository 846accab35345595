import HeadgateLibC

/// A folder below which files are opened by paths that may come from others. No such path leads out of it: no component
/// is `..`, and no link is followed.
package final class FileFolder: Sendable {
  /// The path of the folder itself, which may be or contain links.
  package let path: String
  private let descriptor: Int32
  private let owner: uid_t

  /// - Parameter owner: The user whose files are opened.
  package init(_ path: String, owner: uid_t = geteuid()) throws(SystemError) {
    descriptor = try Descriptor.openFolder(path)
    (self.path, self.owner) = (path, owner)
  }

  deinit { Descriptor.close(descriptor) }

  /// The names of a path below a folder. Nil if the path is not one of a file below it: it is empty, begins or ends with
  /// a slash, or contains `..` or a zero byte.
  package static func components(of path: String) -> [String]? {
    // By bytes: a slash and a combining mark after it are one character.
    let names = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard let first = names.first, !first.isEmpty, let last = names.last, !last.isEmpty, !last.elementsEqual(".".utf8),
      !path.utf8.contains(0), !names.contains(where: { $0.elementsEqual("..".utf8) })
    else { return nil }
    return names.filter { !$0.isEmpty && !$0.elementsEqual(".".utf8) }.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Opens a file for reading. Blocks.
  ///
  /// - Parameter path: The path from the folder.
  /// - Throws: Also if it is not a regular file of the owner, or if a link leads to it.
  package func open(_ path: String) throws(RequestBodyError) -> Int32 {
    let whole = full(path)
    guard var names = Self.components(of: path), let last = names.popLast() else {
      throw RequestBodyError(.outside, path: whole)
    }
    var folders: [Int32] = []
    defer { for folder in folders { Descriptor.close(folder) } }
    for name in names { folders.append(try open(name, in: folders.last, O_DIRECTORY, whole)) }
    let file = try open(last, in: folders.last, O_NONBLOCK, whole)
    do throws(RequestBodyError) {
      var info = stat()
      guard fstat(file, &info) == 0 else { throw RequestBodyError(.unreadable, path: whole, errno: errno) }
      guard info.st_mode & S_IFMT == S_IFREG else { throw RequestBodyError(.notAFile, path: whole) }
      guard info.st_uid == owner else { throw RequestBodyError(.foreign, path: whole) }
      return file
    } catch {
      Descriptor.close(file)
      throw error
    }
  }

  /// The path of a file below the folder, for messages.
  package func full(_ path: String) -> String {
    self.path + (self.path.utf8.last == UInt8(ascii: "/") ? "" : "/") + path
  }

  private func open(_ name: String, in folder: Int32?, _ kind: Int32, _ path: String) throws(RequestBodyError) -> Int32
  {
    let opened = openat(folder ?? descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind)
    guard opened >= 0 else {
      let failed = errno
      // The kind of error for a link depends on the system.
      guard failed != ELOOP, failed != ENOTDIR, failed != EMLINK else { throw RequestBodyError(.linked, path: path) }
      throw RequestBodyError(.unreadable, path: path, errno: failed)
    }
    return opened
  }
}

/// Where the file of a body is.
enum BodyPlace: Sendable {
  case path(String)
  case below(FileFolder, String)

  /// The path, for errors.
  var path: String {
    switch self {
    case .path(let path): path
    case .below(let folder, let path): folder.full(path)
    }
  }

  func open() throws(RequestBodyError) -> Int32 {
    switch self {
    case .path(let path):
      // Without `O_NONBLOCK`, opening a pipe would wait for a writer.
      let opened = systemOpen(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard opened >= 0 else { throw RequestBodyError(.unreadable, path: path, errno: errno) }
      return opened
    case .below(let folder, let path): return try folder.open(path)
    }
  }
}

// Lets the method above call the system function of the same name.
private func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
