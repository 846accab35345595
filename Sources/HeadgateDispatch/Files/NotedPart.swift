import HeadgateLibC

/// What remembers a part file from one run to the next.
package protocol PartNotes: AnyObject {
  /// The path of the complete file. Its part has the same path with `.part`.
  var path: String { get }

  /// Whether an existing part file may be replaced.
  var owner: PartOwner { get }

  /// The inode number of the part file in the notes. Nil without one.
  var inode: UInt64? { get }

  /// Whether a later run may continue a part.
  var isKept: Bool { get }

  /// The part file is about to be created. From now on it may be replaced.
  func creates() throws(DispatchError)

  /// The part file exists. Its bytes are not written before ``begins(_:_:)``.
  func created(_ inode: UInt64)

  /// The part file gets the bytes of this version.
  func begins(_ validator: Validator, _ identity: PartIdentity) throws(DispatchError)

  /// The part file was removed.
  func removed()

  /// Gives the complete body its name. `completion` gets the path.
  ///
  /// - Parameter part: The locked part file, which is always closed. Nil if it has not been created yet.
  func finish(
    _ body: CompleteBody, _ part: Int32?, _ completion: @escaping @Sendable (Result<String, DispatchError>) -> Void)
}

extension PartNotes {
  package var partPath: String { path + ".part" }

  /// Creates the part file, once the notes know of it: otherwise another run could continue the new bytes as if they were
  /// of the earlier version.
  func createPart() throws(DispatchError) -> (part: Int32, inode: UInt64) {
    let earlier: Int32?
    do throws(SystemError) { earlier = try Descriptor.lockEarlierPart(partPath, owner) } catch {
      throw .unwritten(partPath, error)
    }
    // Locked before the note is written, which may be that of a run under way.
    defer { if let earlier { Descriptor.close(earlier) } }
    try creates()
    do throws(SystemError) { return try Descriptor.createPart(partPath, inPlaceOf: earlier) } catch {
      throw .unwritten(partPath, error, creating: true)
    }
  }
}

/// Stores a body in a part file that another run can continue.
///
/// The order of writes: a note that the part is to be created; the empty file, locked; a note of its version and identity;
/// then its bytes. So the file never has bytes of a version that the notes don't know. A body smaller than a block has no
/// such file before its end.
package final class NotedPart: BodyStore {
  private let notes: any PartNotes
  private let partPath: String
  private var file: Int32?
  /// Of the part file, once this object has created or opened it.
  private var inode: UInt64?
  private var validator = Validator()
  /// Whether the part file is closed only until the next request.
  private var isSuspended = false
  /// Whether the part file is this object's, so that an earlier part is gone or continued.
  private var isBegun = false

  package init(_ notes: any PartNotes) { (self.notes, partPath) = (notes, notes.partPath) }

  deinit { closeFile() }

  package func begin(_ validator: Validator) {
    self.validator = validator
    isSuspended = false
    closeFile()
  }

  package func goOn(after part: PartialBody) throws(DispatchError) {
    validator = part.validator
    do throws(SystemError) {
      if let file { return try Descriptor.cutPart(file, at: part.size) }
      let opened = try Descriptor.openPart(partPath, at: part.size, of: inode ?? notes.inode)
      (file, inode, isBegun) = (opened.part, opened.inode, true)
    } catch { throw .unwritten(partPath, error) }
  }

  package func append(_ bytes: [UInt8]) throws(DispatchError) {
    let file = if let file { file } else { try create(for: bytes) }
    do throws(SystemError) { try Descriptor.write(bytes, to: file) } catch { throw .unwritten(partPath, error) }
  }

  private func create(for bytes: [UInt8]) throws(DispatchError) -> Int32 {
    let (part, inode) = try notes.createPart()
    (file, self.inode, isBegun) = (part, inode, true)
    notes.created(inode)
    let isResumable = validator.forRange != nil && notes.isKept
    try notes.begins(isResumable ? validator : Validator(), PartIdentity(inode: inode, first: bytes))
    return part
  }

  package func checksum() throws(DispatchError) -> Checksum {
    do throws(SystemError) { return try Checksum(ofFile: partPath) } catch { throw .unwritten(partPath, error) }
  }

  package func finish(
    _ body: CompleteBody, _ completion: @escaping @Sendable (Result<String, DispatchError>) -> Void
  ) {
    isBegun = false
    notes.finish(body, file.take(), completion)
  }

  package func leave(_ rest: [UInt8]) {
    let isThere = file != nil || isSuspended || !rest.isEmpty
    guard notes.isKept, validator.forRange != nil, isThere else { return drop() }
    // What is in the file already is a beginning of the body, even if the rest can't be written.
    if !rest.isEmpty { try? append(rest) }
    closeFile()
  }

  package func drop() {
    defer { closeFile() }
    guard isBegun else { return }
    isBegun = false
    // A part that is open is removed before its lock is given up.
    if file != nil ? unlink(partPath) == 0 : Descriptor.removePart(partPath, notes.owner) { notes.removed() }
  }

  package func suspend() {
    isSuspended = isSuspended || file != nil
    closeFile()
  }

  private func closeFile() {
    if let file = file.take() { Descriptor.close(file) }
  }
}
