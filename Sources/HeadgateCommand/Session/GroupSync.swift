import HeadgateDispatch
import HeadgateThreads

/// Writes and syncs for many callers together: one system call serves all callers that are waiting.
///
/// It is the group commit of databases: callers add their lines, then queue for one lock. The first one writes and syncs
/// what all have added, and the others find it done.
final class GroupSync: Sendable {
  private struct Pending {
    var bytes: [UInt8] = []
    /// The number of all lines so far. It tells a caller whether its own line has been written.
    var lines = 0
    var failure: SystemError?
  }

  /// How many of the lines have been written, and how many synced.
  private struct Progress {
    var written = 0
    var synced = 0
  }

  private let descriptor: Int32
  private let lane: SerialLane
  private let pending = Locked(Pending())
  // Held while a thread writes and syncs. Taken before `pending`.
  private let progress = Locked(Progress())

  /// - Parameter descriptor: A file or a folder. It is closed with this object.
  init(_ descriptor: Int32, on crew: LaneCrew) {
    self.descriptor = descriptor
    lane = SerialLane(on: crew)
  }

  deinit { Descriptor.close(descriptor) }

  /// The first error. Nothing is written after it.
  var failure: SystemError? { pending.withLock { $0.failure } }

  /// Writes a line after all earlier ones. Returns at once.
  func add(_ line: String) {
    let place = append(line)
    // The error is kept for those that wait.
    lane.run { [self] in try? flush(through: place, forDisk: false) }
  }

  /// Writes a line together with the next one.
  func addLater(_ line: String) { append(line) }

  /// Writes a line, and returns once the system has it, so that it survives the end of the process.
  func write(_ line: String) async throws(SystemError) {
    let place = append(line)
    try await lane.perform { [self] () throws(SystemError) in try flush(through: place, forDisk: false) }
  }

  /// Does what ``write(_:)`` does, but blocks.
  func writeHere(_ line: String) throws(SystemError) { try flush(through: append(line), forDisk: false) }

  /// Writes a line, and returns once it and all earlier lines are on disk.
  func sync(_ line: String) async throws(SystemError) {
    let place = append(line)
    try await lane.perform { [self] () throws(SystemError) in try flush(through: place, forDisk: true) }
  }

  /// Does what ``sync(_:)`` does, but blocks.
  func syncHere(_ line: String = "") throws(SystemError) { try flush(through: append(line), forDisk: true) }

  /// Lets another run lock the file. Call it after the last write. Otherwise the file would stay locked for a while if
  /// a task that is ending still holds this object.
  func unlock() { Descriptor.unlock(descriptor) }

  @discardableResult
  private func append(_ line: String) -> Int {
    pending.withLock { pending in
      pending.bytes += line.utf8
      pending.lines += 1
      return pending.lines
    }
  }

  private func flush(through place: Int, forDisk: Bool) throws(SystemError) {
    try progress.withLock { progress throws(SystemError) in
      guard (forDisk ? progress.synced : progress.written) < place else { return }
      let (bytes, lines, failure) = pending.withLock { pending in
        defer { pending.bytes = [] }
        return (pending.bytes, pending.lines, pending.failure)
      }
      if let failure { throw failure }
      do throws(SystemError) {
        if !bytes.isEmpty { try Descriptor.write(bytes, to: descriptor) }
        progress.written = lines
        guard forDisk else { return }
        try Descriptor.sync(descriptor)
        progress.synced = lines
      } catch {
        pending.withLock { $0.failure = error }
        throw error
      }
    }
  }
}
