import HeadgateLibC

/// The note beside the part file of ``FileDestination/resuming(_:)``: `name.part.note`. A line says which version of which
/// URL the part has, and how to tell it from another file.
///
/// The note is written over in place. One that a crash has torn still says whose the part is, but not what it has, so the
/// body begins anew.
final class PartNote: PartNotes {
  private static let header = Array("headgate-part 1\n".utf8)

  let path: String
  private let destination: FileDestination
  // Not the URL itself, which may have secrets.
  private let key: String
  private var identity: PartIdentity?
  private var created: UInt64?

  init(_ destination: FileDestination, of request: DispatchRequest) {
    (path, self.destination) = (destination.path, destination)
    var hash = SHA256()
    hash.update(Array(ShownText.withoutPassword(request.url).utf8))
    key = "\(Checksum(hash))"
  }

  private var notePath: String { partPath + ".note" }

  var isKept: Bool { true }
  var inode: UInt64? { identity?.inode }
  var owner: PartOwner {
    let isNoted = read() != nil
    return { [created] inode in isNoted || inode == created }
  }

  /// The part that an earlier run has left, if it can be continued. Blocks.
  func look() -> PartialBody? {
    guard let fields = read(), fields.count > 5, fields[0] == "part", fields[1] == key,
      let boot = Descriptor.boot(), fields[2] == boot, let identity = PartIdentity(fields[5...]),
      let found = Descriptor.found(partPath), found.inode == identity.inode, found.size >= identity.leastSize,
      identity.isBeginning(of: partPath)
    else { return nil }
    self.identity = identity
    return PartialBody(size: found.size, Validator(tag: fields[3], modified: fields[4]))
  }

  /// The fields of the note. Empty for a torn one, nil if there is no note of a part.
  private func read() -> [String]? {
    // Otherwise another user could have put a part of his own there.
    guard Descriptor.isOwnFile(notePath), Descriptor.found(partPath) == nil || Descriptor.isOwnFile(partPath),
      let bytes = try? Descriptor.readFile(notePath, atMost: 1 << 16),
      Self.header.starts(with: bytes) || bytes.starts(with: Self.header)
    else { return nil }
    return JournalLine.fields(bytes.dropFirst(Self.header.count).dropLast()) ?? []
  }

  func creates() throws(DispatchError) {
    try PartFile.checkMayReplace(path)
    guard read() != nil || Descriptor.found(notePath) == nil else {
      throw .unwritten(notePath, SystemError(errno: EEXIST))
    }
    identity = nil
    try write([])
  }

  func created(_ inode: UInt64) { created = inode }

  func begins(_ validator: Validator, _ identity: PartIdentity) throws(DispatchError) {
    self.identity = identity
    let version = [validator.tag ?? "", validator.modified ?? ""]
    try write(Array(JournalLine.text(["part", key, Descriptor.boot() ?? ""] + version + identity.fields).utf8))
  }

  private func write(_ line: [UInt8]) throws(DispatchError) {
    let opened = open(notePath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard opened >= 0 else { throw .unwritten(notePath, .last) }
    defer { close(opened) }
    do throws(SystemError) { try Descriptor.write(Self.header + line, to: opened) } catch {
      throw .unwritten(notePath, error)
    }
  }

  func removed() { unlink(notePath) }

  func finish(
    _ body: CompleteBody, _ part: Int32?, _ completion: @escaping @Sendable (Result<String, DispatchError>) -> Void
  ) {
    do throws(DispatchError) {
      let file = if let part { part } else { try createPart().part }
      do throws(SystemError) { try Descriptor.write(body.rest, to: file) } catch {
        Descriptor.close(file)
        throw .unwritten(partPath, error)
      }
      try PartFile.finish(file, at: partPath, modified: body.modified, syncs: destination.syncs) {
        () throws(DispatchError) in try PartFile.replace(path, with: partPath)
      }
      unlink(notePath)
      if destination.syncs { try PartFile.syncFolder(of: path) }
      completion(.success(path))
    } catch {
      // Nothing could continue it.
      if identity == nil || body.validator.forRange == nil, Descriptor.removePart(partPath, owner) { removed() }
      completion(.failure(error))
    }
  }
}
