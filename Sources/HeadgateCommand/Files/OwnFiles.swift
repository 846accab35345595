import HeadgateDispatch
import HeadgateLibC

// The files that a run reads, and those that it writes besides bodies.

extension FetchOptions {
  /// The files, each with its option. Some are written only at the end.
  var ownFiles: [(option: String, path: String)] {
    [
      ("--session", session), ("--log", log == "-" ? nil : log), ("--report", page),
      ("--cookie-jar", connection?.cookieJar), ("--adaptive-file", adaptiveFile),
    ].compactMap { option, path in path.map { (option, $0) } }
  }

  /// The files that the run reads. With `--overwrite`, the server of a URL could otherwise write the next run's list.
  fileprivate var readFiles: [String] {
    lists + list.checksumFiles + headerFiles + (bodySource?.files ?? [])
      + [passwordFile, connection?.cookieFile, connection?.cacert, connection?.cert, connection?.key].compactMap { $0 }
  }

  /// The names in the output folder that no body may get: existing files, unless they are replaced, and the files that
  /// the run itself reads and writes, even those that don't exist yet.
  ///
  /// - Parameter keepsParts: Whether the names of existing parts are taken too, with `--overwrite` as well.
  func takenNames(keepsParts: Bool) -> [String] { existingNames(keepsParts: keepsParts) + ownNames }

  /// Those of the existing files.
  func existingNames(keepsParts: Bool) -> [String] {
    guard case .folder(let folder) = target else { return [] }
    return FilePaths.taken(in: folder, keepsExisting: !overwrites, keepsParts: keepsParts)
  }

  /// Those of the run's own files.
  var ownNames: [String] {
    guard case .folder(let folder) = target else { return [] }
    return FilePaths.paths(of: ownFiles.map(\.path) + readFiles, below: folder)
  }
}

extension CallOptions {
  /// The files, each with its option. Some are written only at the end.
  var ownFiles: [(option: String, path: String)] {
    [("-o", results), ("--session", session)].compactMap { option, path in path.map { (option, $0) } }
      + requests.ownFiles
  }

  /// The paths below the folder of `--save` that no body may get.
  var takenNames: [String] {
    FilePaths.taken(in: folder, keepsExisting: true, keepsParts: false)
      + FilePaths.paths(of: ownFiles.map(\.path) + lists + requests.readFiles, below: folder)
  }
}

extension FetchRun {
  /// Refuses a file of the run that is also a list, or that two options name. Opening it would empty it.
  static func checkOwnFiles<Item>(
    _ files: [(option: String, path: String)], _ lists: [InputReader<Item>]
  ) throws(FetchProblem) {
    for (index, file) in files.enumerated() {
      if let list = lists.first(where: { $0.reads(file.path) }) {
        throw FetchProblem(
          "\(file.option) \(file.path) would replace the list \(list.name); give another file", status: .usage)
      }
      if let other = files[..<index].first(where: { FilePaths.isSame($0.path, file.path) }) {
        throw FetchProblem(
          "\(other.option) and \(file.option) have the same file, \(file.path); give another one", status: .usage)
      }
    }
  }
}

extension FilePaths {
  /// The names in a folder that no body may get.
  ///
  /// - Parameter keepsParts: Whether the names of existing parts are taken too, which other runs give their files.
  static func taken(in folder: String, keepsExisting: Bool, keepsParts: Bool) -> [String] {
    guard keepsExisting || keepsParts else { return [] }
    let names = Descriptor.names(in: folder)
    let parts = keepsParts ? names.filter { $0.hasSuffix(".part") }.map { String($0.dropLast(".part".count)) } : []
    return (keepsExisting ? names : []) + parts
  }

  /// The paths of those of the files that are below a folder.
  fileprivate static func paths(of files: [String], below folder: String) -> [String] {
    files.compactMap { path(of: $0, below: folder) }
  }

  /// The path of a file, which need not exist, from a folder above it. Nil if it is elsewhere.
  static func path(of file: String, below folder: String) -> String? {
    guard let path = resolved(file), let root = realPath(folder) else { return nil }
    let start = FileName.path("", in: root)
    return path.utf8.starts(with: start.utf8)
      ? String(decoding: path.utf8.dropFirst(start.utf8.count), as: UTF8.self) : nil
  }

  /// Whether two paths lead to the same regular file, which need not exist.
  fileprivate static func isSame(_ one: String, _ other: String) -> Bool {
    var info = stat()
    guard stat(one, &info) == 0 else { return one == other || resolved(one).map { $0 == resolved(other) } ?? false }
    return info.st_mode & S_IFMT == S_IFREG && Descriptor.isSameFile(one, other)
  }

  /// The absolute path of a file, which need not exist, with no links and dots in its folder.
  private static func resolved(_ path: String) -> String? {
    let folder = folder(of: path)
    let name = folder.map { String(decoding: path.utf8.dropFirst($0.utf8.count + 1), as: UTF8.self) } ?? path
    return realPath(folder.map { $0.isEmpty ? "/" : $0 } ?? ".").map { FileName.path(name, in: $0) }
  }

  private static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}
