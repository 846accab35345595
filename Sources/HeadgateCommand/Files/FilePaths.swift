import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// Assigns paths below a folder, as ``FileNames`` assigns names. Paths that are taken are numbered, in the order of the
/// calls. A folder whose name belongs to a file is numbered too.
final class FilePaths: Sendable {
  private struct State {
    /// The folders in use: the path assigned for each wanted path.
    var folders: [String: String] = [:]
    /// Folders that did not exist before, outer folders first.
    var added: [String] = []
    var wished = NameHashes()
  }

  let root: String
  private let names: FileNames
  private let keepsExisting: Bool
  private let keepsParts: Bool
  private let state = Locked(State())
  // Held while a folder gets its path: two callers would otherwise number a new folder that they share.
  private let claims = Locked(())

  /// - Parameters:
  ///   - root: The output folder.
  ///   - names: Holds the names that are taken.
  ///   - keepsExisting: Whether existing files keep their names.
  ///   - keepsParts: Whether the names of existing parts are taken.
  ///   - used: Paths that are taken from the beginning, with their folders.
  init(in root: String, _ names: FileNames, keepsExisting: Bool, keepsParts: Bool = false, used: [String] = []) {
    (self.root, self.names) = (root, names)
    (self.keepsExisting, self.keepsParts) = (keepsExisting, keepsParts)
    for path in used {
      _ = names.take(path)
      var folder = FilePaths.folder(of: path)
      while let path = folder {
        _ = names.take(path)
        if state.withLock({ $0.folders.updateValue(path, forKey: path) }) == nil { takeExisting(in: path) }
        folder = FilePaths.folder(of: path)
      }
    }
  }

  /// Assigns the path of a file. Reads the disk if its folder is new.
  func claim(_ path: String) -> String {
    guard let folder = FilePaths.folder(of: path) else { return names.claim(path) }
    let name = path.utf8.dropFirst(folder.utf8.count)
    return names.claim(claims.withLock { _ in adopted(folder) } + String(decoding: name, as: UTF8.self))
  }

  /// Notes that a path is wanted. Returns whether it was wanted before.
  func isWishedAgain(_ path: String) -> Bool { state.withLock { !$0.wished.insert(path.hashValue) } }

  /// Whether a path is that of a file from before the run.
  func existed(_ path: String) -> Bool { names.existed(path) }

  /// Makes the folder of an assigned path.
  ///
  /// - Parameter syncs: Whether the entries of new folders are written to the disk.
  func makeFolder(of path: String, syncs: Bool = false) throws(SystemError) {
    guard let folder = FilePaths.folder(of: path) else { return }
    try Descriptor.makeFolder(FileName.path(folder, in: root), syncs: syncs)
  }

  /// Removes new folders that have stayed empty.
  func removeEmptyFolders() {
    // Inner folders first.
    for folder in state.withLock({ $0.added }).reversed() { rmdir(FileName.path(folder, in: root)) }
  }

  /// The text before the last slash. Nil without a slash.
  static func folder(of path: String) -> String? {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(decoding: path.utf8[..<$0], as: UTF8.self) }
  }

  /// The assigned path of a folder.
  private func adopted(_ folder: String) -> String {
    if let known = state.withLock({ $0.folders[folder] }) { return known }
    let outer = FilePaths.folder(of: folder)
    let base =
      outer.map { adopted($0) + String(decoding: folder.utf8.dropFirst($0.utf8.count), as: UTF8.self) } ?? folder
    var (path, number) = (base, 0)
    while !mayBeFolder(path) {
      number += 1
      path = "\(base).\(number)"
    }
    state.withLock { state in
      state.folders[folder] = path
      state.folders[path] = path
    }
    return path
  }

  private func takeExisting(in path: String) {
    let folder = FileName.path(path, in: root)
    for name in FilePaths.taken(in: folder, keepsExisting: keepsExisting, keepsParts: keepsParts) {
      names.takeExisting(path + "/" + name)
    }
  }

  private func mayBeFolder(_ path: String) -> Bool {
    if state.withLock({ $0.folders[path] == path }) { return true }
    let isNew = names.take(path)
    switch Descriptor.isFolder(FileName.path(path, in: root)) {
    case true?:
      takeExisting(in: path)
      return true
    case false?: return false
    case nil:
      if isNew { state.withLock { $0.added.append(path) } }
      return isNew
    }
  }
}
