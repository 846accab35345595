import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// What a session's journal notes about the part file of one body.
final class SessionNotes: PartNotes, Sendable {
  private let key: String
  private let name: String
  private let session: Session
  /// Whether the body is from the key's own URL. The validator of a mirror's body means nothing to another server.
  let isKept: Bool

  init(_ key: String, named name: String, isOwn: Bool, in session: Session) {
    (self.key, self.name, self.session) = (key, name, session)
    isKept = isOwn
  }

  var path: String { session.path(name) }
  var owner: PartOwner { session.ownsPart(key, named: name) }
  var inode: UInt64? { session.partInode(key) }

  func creates() throws(DispatchError) {
    try write(.creating(key: key, name: name)) { [self] () throws(SystemError) in try session.makeFolder(of: name) }
  }

  func created(_ inode: UInt64) { session.created(inode, named: name) }

  func begins(_ validator: Validator, _ identity: PartIdentity) throws(DispatchError) {
    try write(.part(key: key, name: name, validator, identity))
  }

  private func write(
    _ event: SessionEvent, after prepare: () throws(SystemError) -> Void = {}
  ) throws(DispatchError) {
    do throws(SystemError) {
      try prepare()
      try session.journal.writeHere(event.line)
    } catch { throw .unwritten(partPath, error) }
  }

  func removed() { session.created(nil, named: name) }

  func finish(
    _ body: CompleteBody, _ part: Int32?, _ completion: @escaping @Sendable (Result<String, DispatchError>) -> Void
  ) {
    do throws(SystemError) {
      // Here, so that the small bodies of the batch need not wait for a large one.
      if let part { try Descriptor.sync(part) } else { try session.makeFolder(of: name) }
    } catch {
      if let part { Descriptor.close(part) }
      return completion(.failure(.unwritten(partPath, error)))
    }
    let file = SessionFile(
      name: name, size: body.size, validator: isKept ? body.validator : Validator(), checksum: body.checksum)
    let whole = CompletedBodies.Body(
      key: key, file: file, rest: body.rest, part: part, modified: body.modified, ownsPart: owner,
      replaces: session.mayReplace(name, of: key))
    session.completed.add(whole) { [self] ending in
      switch ending {
      case .named:
        removed()
        completion(.success(path))
      case .unnamed(let error): completion(.failure(session.unnamed(name, error)))
      case .failed(let error): completion(.failure(.unwritten(partPath, error)))
      }
    }
  }
}

extension Session {
  /// Renames a part file that an earlier run has completed. Returns its path once the folder is on disk.
  func name(_ file: SessionFile, of key: String) async throws(DispatchError) -> String {
    let replaces = mayReplace(file.name, of: key, isLeft: true)
    do throws(SystemError) {
      try await looks.perform { [completed] () throws(SystemError) in
        try completed.rename(file.name, replacing: replaces)
      }
    } catch {
      throw unnamed(file.name, error)
    }
    confirm(key)
    return path(file.name)
  }

  /// Notes a body that an earlier run has renamed, once that is on disk: otherwise a power cut could undo the rename, and
  /// leave the note.
  func confirm(_ file: SessionFile, of key: String) async {
    let sync: Void? = try? await looks.perform { [completed] () throws(SystemError) in
      try completed.syncFolder(of: file.name)
    }
    if sync != nil { confirm(key) }
  }

  /// The error of a complete body that can't get its name.
  fileprivate func unnamed(_ name: String, _ error: SystemError) -> DispatchError {
    guard error.errno == EEXIST else { return .unwritten(path(name) + ".part", error) }
    return DispatchError(
      .fileFailed, phase: .writing,
      detail:
        "\(path(name)) exists, but not from this session; the body stays in \(path(name)).part; move the other file "
        + "away\(overwrites ? "" : " or give --overwrite"), and repeat the command",
      underlyingError: error)
  }

  /// Makes the folder of a name, and writes the entries for it to the disk. Blocks.
  fileprivate func makeFolder(of name: String) throws(SystemError) {
    guard let inner = FilePaths.folder(of: name), !madeFolders.withLock({ $0.contains(inner) }) else { return }
    try Descriptor.makeFolder(FileName.path(inner, in: folder))
    var outer = FilePaths.folder(of: inner)
    while let path = outer {
      try Descriptor.syncFolder(FileName.path(path, in: folder))
      outer = FilePaths.folder(of: path)
    }
    try folderSync.syncHere()
    madeFolders.withLock { _ = $0.insert(inner) }
  }

  /// Notes that a body has been renamed, or that it is current. It does not wait for the write, since the file itself
  /// is the evidence.
  func confirm(_ key: String) { journal.add(SessionEvent.done(key: key).line) }
}
