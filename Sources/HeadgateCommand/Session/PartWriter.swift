import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// Writes a body to its part file, which is renamed when the body is complete. For use by a single task.
final class PartWriter {
  private static let blockSize = 256 * 1024

  let key: String
  let name: String
  /// The size of the body so far, unwritten bytes included.
  private(set) var size = 0
  private(set) var validator = Validator()
  private let session: Session
  /// The checksum that the body must have, or nil.
  private let checksum: Checksum?
  /// Whether the body is from the key's own URL. The validator of a mirror's body means nothing to another server.
  private let isOwn: Bool
  /// Whether a range of the body can be requested.
  private let resumes: Bool
  private let lane: SerialLane
  private var block: [UInt8] = []
  private var file: Int32?
  /// Of the bytes in the part file. Nil if no checksum is expected, or if the file has bytes of an earlier run.
  private var hash: SHA256?
  /// Whether the part file is this writer's, so that an earlier part is gone or continued.
  private(set) var isBegun = false
  /// Whether a response's body has broken off, so that the server may have processed the request.
  var wasCutShort = false

  init(
    _ key: String, named name: String, checksum: Checksum? = nil, isOwn: Bool = true, in session: Session,
    resumes: Bool
  ) {
    (self.key, self.name, self.isOwn, self.session, self.resumes) = (key, name, isOwn, session, resumes)
    self.checksum = checksum
    lane = SerialLane(on: session.crew)
  }

  deinit { if let file { Descriptor.close(file) } }

  private var partPath: String { session.path(name) + ".part" }

  /// Whether another request can continue this part.
  var canGoOn: Bool { size > 0 && isResumable }

  private var isResumable: Bool { resumes && validator.forRange != nil }

  /// Begins a whole body.
  func begin(_ validator: Validator) {
    self.validator = validator
    (block, size) = ([], 0)
    hash = checksum.map { _ in SHA256() }
    closeFile()
  }

  /// Continues a body at an offset.
  func goOn(from offset: Int, of validator: Validator) async throws(SystemError) {
    self.validator = validator
    block = []
    size = offset
    // A part that is open stays locked.
    if let file {
      try await lane.perform { () throws(SystemError) in try Descriptor.cutPart(file, at: offset) }
    } else {
      try await openFile(at: offset)
    }
    // With bytes of an earlier run, the file is read at the end, and not now: the server would wait for that.
    if hash?.count != offset { hash = nil }
  }

  func append(_ piece: [UInt8]) async throws(SystemError) {
    block += piece
    size += piece.count
    if block.count >= Self.blockSize { try await flush() }
  }

  /// Writes the pending bytes. Before the first bytes of a body, its version is written to the journal, so the file
  /// never has bytes of a version that the journal does not know. A body smaller than a block has no such entry.
  func flush() async throws(SystemError) {
    guard file != nil || !block.isEmpty else { return }
    if file == nil {
      let (path, owner) = (partPath, session.ownsPart(key, named: name))
      try await lane.perform { () throws(SystemError) in try Descriptor.checkPart(path, owner) }
      // Otherwise another run could continue the new bytes as if they were of the earlier version.
      try await session.journal.write(SessionEvent.creating(key: key, name: name).line)
      let identity = PartIdentity(inode: try await openFile(at: 0), first: block)
      let version = isOwn && isResumable ? validator : Validator()
      try await session.journal.write(SessionEvent.part(key: key, name: name, version, identity).line)
    }
    guard let file else { return }
    let bytes = block
    block = []
    hash = try await lane.perform { [hash] () throws(SystemError) in
      var hash = hash
      hash?.update(bytes)
      try Descriptor.write(bytes, to: file)
      return hash
    }
  }

  /// Ends a complete body, and returns its path once it has its final name on disk.
  ///
  /// - Parameter modified: The file's modification time, in seconds since 1970. Nil for now.
  /// - Throws: `ChecksumError` after the part file is removed, or ``SystemError``.
  func finish(modified: Int? = nil) async throws -> String {
    if file == nil { try await session.makeFolder(of: name) } else { try await syncBlocks() }
    if let checksum {
      let found = try await self.found()
      do { try checksum.check(found) } catch {
        await drop()
        throw error
      }
    }
    let whole = SessionFile(name: name, size: size, validator: isOwn ? validator : Validator(), checksum: checksum)
    let body = CompletedBodies.Body(
      key: key, file: whole, rest: block, part: file, modified: modified, ownsPart: session.ownsPart(key, named: name),
      replaces: session.mayReplace(name, of: key))
    (block, file, isBegun) = ([], nil, false)
    switch await session.completed.add(body) {
    case .named:
      session.created(nil, named: name)
      return session.path(name)
    case .unnamed(let error): throw session.unnamed(name, error)
    case .failed(let error): throw error
    }
  }

  /// Syncs a large body on its own lane, so that the small ones of its batch need not wait for it.
  private func syncBlocks() async throws(SystemError) {
    try await flush()
    guard let file else { return }
    try await lane.perform { () throws(SystemError) in try Descriptor.sync(file) }
  }

  /// The checksum of the complete body.
  private func found() async throws(SystemError) -> Checksum {
    if var hash {
      // A body that is smaller than a block has no file yet.
      hash.update(block)
      return Checksum(hash)
    }
    let path = partPath
    return try await lane.perform { () throws(SystemError) in try Checksum(ofFile: path) }
  }

  /// Gives the body up in this run. A part that another run can continue is kept, and any other that this writer has
  /// begun is removed. A complete body is not this writer's any more: the next run renames it.
  func leave() async {
    if isOwn, canGoOn, file != nil || !block.isEmpty, (try? await flush()) != nil {
      closeFile()
    } else {
      await drop()
    }
  }

  /// Removes the part file, unless it is an earlier part that this writer has not touched.
  func drop() async {
    (block, size) = ([], 0)
    let (path, isOpen, owner) = (partPath, file != nil, session.ownsPart(key, named: name))
    // A part that is open is removed before its lock is given up.
    if isBegun {
      _ = try? await lane.perform { () throws(SystemError) in
        if isOpen { unlink(path) } else { Descriptor.removePart(path, owner) }
      }
      session.created(nil, named: name)
    }
    closeFile()
  }

  /// - Returns: The file's inode number.
  @discardableResult
  private func openFile(at offset: Int) async throws(SystemError) -> UInt64 {
    let path = partPath
    try await session.makeFolder(of: name)
    let (noted, owner) = (session.partInode(key), session.ownsPart(key, named: name))
    let opened = try await lane.perform { () throws(SystemError) in
      try offset > 0 ? Descriptor.openPart(path, at: offset, of: noted) : Descriptor.createPart(path, replacing: owner)
    }
    session.created(opened.inode, named: name)
    (file, isBegun) = (opened.part, true)
    return opened.inode
  }

  private func closeFile() {
    if let file { Descriptor.close(file) }
    file = nil
  }
}

extension Session {
  /// Renames a part file that an earlier run has completed. Returns its path once the folder is on disk.
  func name(_ file: SessionFile, of key: String) async throws -> String {
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

  /// The error of a body that can't be written.
  func unwritten(_ name: String, _ error: any Error) -> DispatchError {
    let part = path(name) + ".part"
    let detail =
      switch (error as? SystemError)?.errno {
      case EWOULDBLOCK:
        "another run is writing \(part); wait for its end and repeat the command, or give another folder"
      case EEXIST: "\(part) is another program's; remove it or move it away, and repeat the command"
      default: "writing \(part): \(error)"
      }
    return DispatchError(.fileFailed, phase: .writing, detail: detail)
  }

  /// The error of a complete body that can't get its name.
  fileprivate func unnamed(_ name: String, _ error: SystemError) -> any Error {
    guard error.errno == EEXIST else { return error }
    return DispatchError(
      .fileFailed, phase: .writing,
      detail:
        "\(path(name)) exists, but not from this session; the body stays in \(path(name)).part; move the other file "
        + "away\(overwrites ? "" : " or give --overwrite"), and repeat the command")
  }

  /// Makes the folder of a name, and writes the entries for it to the disk.
  func makeFolder(of name: String) async throws(SystemError) {
    guard let inner = FilePaths.folder(of: name), !madeFolders.withLock({ $0.contains(inner) }) else { return }
    try await looks.perform { [folder, folderSync] () throws(SystemError) in
      try Descriptor.makeFolder(FileName.path(inner, in: folder))
      var outer = FilePaths.folder(of: inner)
      while let path = outer {
        try Descriptor.syncFolder(FileName.path(path, in: folder))
        outer = FilePaths.folder(of: path)
      }
      try folderSync.syncHere()
    }
    madeFolders.withLock { _ = $0.insert(inner) }
  }

  /// Notes that a body has been renamed, or that it is current. It does not wait for the write, since the file itself
  /// is the evidence.
  func confirm(_ key: String) { journal.add(SessionEvent.done(key: key).line) }
}
