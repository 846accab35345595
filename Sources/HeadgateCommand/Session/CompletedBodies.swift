import CHeadgate
import HeadgateDispatch
import HeadgateThreads

/// Gives complete bodies their final names, together with all others that are waiting.
///
/// For each body, three things are done and synced in this order: its file is written, the journal gets a line about
/// it, and the file is renamed in its folder. The disk is asked to write all files of a batch before the first one is
/// waited for, so a batch takes hardly longer than one body.
final class CompletedBodies: Sendable {
  struct Body: Sendable {
    let key: String
    let file: SessionFile
    /// The bytes that are not in the part file yet.
    let rest: [UInt8]
    /// The part file, if it is open. It is closed in every case, and stays if the body can't be stored.
    let part: Int32?
    /// The file's modification time, in seconds since 1970. Nil for now.
    var modified: Int?
    /// Whether an existing part file may be replaced.
    var ownsPart: PartOwner = { _ in false }
    /// Whether it replaces a file that has its name.
    var replaces = false
  }

  enum Ending: Sendable {
    /// The body has its final name, and that is on disk.
    case named
    /// The journal says that the body is complete, but it could not be renamed. The next run tries again.
    case unnamed(SystemError)
    /// The part file or the journal could not be written.
    case failed(SystemError)
  }

  /// Each body of a batch has an open file.
  private static let largestBatch = 64

  private let folder: String
  private let journal: GroupSync
  private let folderSync: GroupSync
  // While one batch waits for the disk, the next one is written.
  private let lanes: [SerialLane]
  private let waiting = Locked<(entries: [Entry], sum: Int)>(([], 0))

  init(in folder: String, _ journal: GroupSync, _ folderSync: GroupSync, on crew: LaneCrew) {
    (self.folder, self.journal, self.folderSync) = (folder, journal, folderSync)
    lanes = [SerialLane(on: crew), SerialLane(on: crew)]
  }

  /// Stores a body. `completion` is called once the body has its final name on disk or can't get it.
  func add(_ body: Body, _ completion: @escaping @Sendable (Ending) -> Void) {
    let sum = waiting.withLock { waiting in
      waiting.entries.append(Entry(body: body, completion: completion))
      waiting.sum += 1
      return waiting.sum
    }
    // A batch may have taken the body before this job runs.
    lanes[sum % lanes.count].run { [self] in storeNext() }
  }

  private func storeNext() {
    var batch = waiting.withLock { waiting in
      defer { waiting.entries.removeFirst(min(waiting.entries.count, Self.largestBatch)) }
      return Array(waiting.entries.prefix(Self.largestBatch))
    }
    for index in batch.indices { batch[index].check(in: folder) }
    let new = batch.indices.filter { batch[$0].isNew && batch[$0].isNamed }
    do throws(SystemError) {
      if !new.isEmpty { try journal.writeHere(new.map { batch[$0].creation }.joined()) }
    } catch {
      for index in new { batch[index].ending = .failed(error) }
    }
    for index in batch.indices { batch[index].write(in: folder) }
    for index in batch.indices { batch[index].sync() }
    let complete = batch.indices.filter { batch[$0].isNamed }
    do throws(SystemError) {
      if !complete.isEmpty { try journal.syncHere(complete.map { batch[$0].line }.joined()) }
    } catch {
      for index in complete { batch[index].ending = .failed(error) }
    }
    for index in batch.indices { batch[index].rename(in: folder) }
    for index in batch.indices { batch[index].close() }
    for (inner, indices) in Dictionary(grouping: batch.indices.filter { batch[$0].isNamed }, by: { batch[$0].inner }) {
      do throws(SystemError) { try syncFolder(inner) } catch {
        for index in indices { batch[index].ending = .unnamed(error) }
      }
    }
    for entry in batch {
      // The line may be written later, since the file itself is the evidence.
      if entry.isNamed { journal.addLater(SessionEvent.done(key: entry.body.key).line) }
      entry.completion(entry.ending)
    }
  }

  /// Renames the part file of a body, and returns once that is on disk. Blocks.
  func rename(_ name: String, replacing: Bool) throws(SystemError) {
    try Descriptor.movePart(of: name, in: folder, replacing: replacing)
    try syncFolder(of: name)
  }

  /// Returns once the folder of a file is on disk. Blocks.
  func syncFolder(of name: String) throws(SystemError) { try syncFolder(FilePaths.folder(of: name)) }

  /// - Parameter inner: A folder below the session's. Nil for the session's own.
  private func syncFolder(_ inner: String?) throws(SystemError) {
    guard let inner else { return try folderSync.syncHere() }
    try Descriptor.syncFolder(FileName.path(inner, in: folder))
  }

  /// A body on its way. Its steps do nothing once one of them has failed.
  private struct Entry {
    let body: Body
    let completion: @Sendable (Ending) -> Void
    var ending = Ending.named
    private var part: Int32?
    private var inode: UInt64 = 0

    init(body: Body, completion: @escaping @Sendable (Ending) -> Void) {
      (self.body, self.completion, part) = (body, completion, body.part)
    }

    /// Whether its part file must be created.
    var isNew: Bool { body.part == nil }

    private func partPath(in folder: String) -> String { FileName.path(body.file.name, in: folder) + ".part" }

    /// Whether nothing has failed.
    var isNamed: Bool { if case .named = ending { true } else { false } }

    /// The folder below the session's. Nil for the session's own.
    var inner: String? { FilePaths.folder(of: body.file.name) }

    var line: String { SessionEvent.whole(key: body.key, body.file, inode: inode).line }

    /// The journal's line about a part file that is about to be created.
    var creation: String { SessionEvent.creating(key: body.key, name: body.file.name).line }

    /// Before the journal has that line, which makes the file this session's.
    mutating func check(in folder: String) {
      guard isNew else { return }
      do throws(SystemError) { try Descriptor.checkPart(partPath(in: folder), body.ownsPart) } catch {
        ending = .failed(error)
      }
    }

    mutating func write(in folder: String) {
      guard isNamed else { return }
      do throws(SystemError) {
        let path = partPath(in: folder)
        let file = if let part { part } else { try Descriptor.createPart(path, replacing: body.ownsPart).part }
        part = file
        try Descriptor.write(body.rest, to: file)
        // A file system that can't store it has the file all the same.
        if let modified = body.modified { _ = headgate_set_modified(file, Int64(modified)) }
        headgate_start_writing(file)
      } catch { ending = .failed(error) }
    }

    mutating func sync() {
      guard isNamed, let file = part else { return }
      do throws(SystemError) {
        try Descriptor.sync(file)
        inode = try Descriptor.found(file).inode
      } catch { ending = .failed(error) }
    }

    mutating func rename(in folder: String) {
      guard isNamed else { return }
      do throws(SystemError) {
        try Descriptor.movePart(of: body.file.name, in: folder, replacing: body.replaces)
      } catch { ending = .unnamed(error) }
    }

    /// Unlocks the part file too, so that it comes after the rename.
    mutating func close() {
      if let part { Descriptor.close(part) }
      part = nil
    }
  }
}
