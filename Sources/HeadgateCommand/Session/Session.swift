import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// A run that another run can continue: its journal, and the files in its folder.
///
/// The order of writes: first the body, synced; then the journal's line that names it, synced; then the rename and the
/// folder, synced. Therefore a file under its final name is always complete, and is never requested again, at whatever
/// moment the process or the machine ends.
final class Session: Sendable {
  /// How many URLs of a session may be in progress.
  static let window = Run.lookahead

  let folder: String
  let journal: GroupSync
  let folderSync: GroupSync
  let completed: CompletedBodies
  /// The folders below it that are known to exist.
  let madeFolders = Locked<Set<String>>([])
  /// The threads for file operations.
  let crew = LaneCrew(name: "headgate-session", size: 4)
  let looks: SerialLane
  let boot: String?
  let room = Semaphore(name: "headgate-session", permits: Session.window)
  private let retryFailed: Bool
  private let newer: Bool
  let overwrites: Bool
  /// The state that earlier runs have left.
  private let state: SessionState
  // The keys of this run so far. Duplicates are excluded.
  private let seen = Locked<Set<String>>([])
  // The part files that this run has created, by the names of their files.
  private let parts = Locked<[String: UInt64]>([:])

  /// Opens or creates a journal.
  ///
  /// - Parameters:
  ///   - path: The path of the journal.
  ///   - folder: The folder of its files.
  ///   - retryFailed: Whether only failed URLs are fetched.
  ///   - newer: Whether complete files are revalidated at the server.
  ///   - overwrites: Whether bodies replace files that are not of the session.
  ///   - boot: An identifier of the machine's last boot. Nil if it is unknown.
  /// - Throws: ``FetchProblem`` if the file can't be opened, is not such a journal, or is in use by another run.
  init(
    _ path: String, folder: String, retryFailed: Bool = false, newer: Bool = false, overwrites: Bool = false,
    boot: String? = Descriptor.boot()
  ) throws(FetchProblem) {
    (self.folder, self.boot, self.retryFailed, self.newer) = (folder, boot, retryFailed, newer)
    self.overwrites = overwrites
    looks = SerialLane(on: crew)
    let (journal, state) = try Session.open(path, boot: boot ?? "")
    self.journal = GroupSync(journal, on: crew)
    self.state = state
    folderSync = GroupSync(try Session.open(folder: folder), on: crew)
    completed = CompletedBodies(in: folder, self.journal, folderSync, on: crew)
  }

  private static func open(folder: String) throws(FetchProblem) -> Int32 {
    do throws(SystemError) {
      return try Descriptor.openFolder(folder)
    } catch {
      throw FetchProblem("the folder \(folder) can't be read: \(error)")
    }
  }

  /// Opens the journal and notes the start of a run. Returns the file and the state that earlier runs have left.
  private static func open(_ path: String, boot: String) throws(FetchProblem) -> (Int32, SessionState) {
    var state = SessionState()
    let journal = try JournalFile.open(path, header: SessionEvent.header, of: "fetch") { lines in
      for line in lines { SessionEvent(line).map { state.apply($0) } }
      return SessionEvent.began(boot: boot).line
    }
    return (journal, state)
  }

  /// Whether an earlier run has begun.
  var isContinued: Bool { state.hasBegun }

  /// The file names of the session.
  var names: [String] { state.names }

  /// Whether the body of a key may replace an existing file, after a request or as an earlier run has left it.
  func mayReplace(_ name: String, of key: String, isLeft: Bool = false) -> Bool {
    overwrites || (isLeft ? state.isDone(key, named: name) : state.owns(key, named: name))
  }

  /// The URLs that failed and have not succeeded since, and how many others failed with another method or body.
  func failedURLs(_ sent: SentRequest) -> (entries: [ListEntry], others: Int) {
    state.failedURLs(sent)
  }

  /// Whether to pass over a URL: a duplicate in this run, or with `--retry-failed` one that has not failed.
  func passesOver(_ key: String) -> Bool {
    if retryFailed, !state.hasFailed(key) { return true }
    return !seen.withLock { $0.insert(key).inserted }
  }

  /// Determines what to do for a key.
  ///
  /// - Parameters:
  ///   - repeatsUnsafe: Whether a request that may have been processed is sent again.
  ///   - mayRepeat: Whether the request may be sent twice.
  ///   - resumes: Whether a range of the body can be requested.
  ///   - expected: Returns the checksum for the name of a file, or nil.
  func plan(
    _ key: String, repeatsUnsafe: Bool, mayRepeat: Bool, resumes: Bool,
    expected: @escaping @Sendable (String) -> Checksum?
  ) async -> SessionState.Plan {
    // The usual case in a first run. It needs no look at the disk, and therefore no thread.
    guard state.knows(key) else { return .begin(name: nil) }
    let planned = try? await looks.perform {
      [state, folder, boot, newer, retryFailed, overwrites] () throws(SystemError) in
      state.plan(
        key, in: folder, boot: boot, renews: newer, retriesFailed: retryFailed, repeatsUnsafe: repeatsUnsafe,
        mayRepeat: mayRepeat, resumes: resumes, overwrites: overwrites, expected)
    }
    guard let planned else { return .begin(name: nil) }
    if !planned.lines.isEmpty { journal.add(planned.lines) }
    return planned.plan
  }

  /// What an earlier run knew about a key that failed.
  func listed(_ key: String) -> ListedURL? { state.listed(key) }

  /// The inode number of a part of a key's body that an earlier run has noted.
  func partInode(_ key: String) -> UInt64? { state.part(key)?.inode }

  /// Tells whether an existing part file of a name was created for a key, by this run or an earlier one.
  func ownsPart(_ key: String, named name: String) -> PartOwner {
    let created = parts.withLock { $0[name] }
    return { [state] inode in inode == created || state.ownsPart(key, named: name, inode: inode) }
  }

  /// Notes that this run has created a part file, or that the file has got its name.
  func created(_ inode: UInt64?, named name: String) { parts.withLock { $0[name] = inode } }

  /// The file of a key's last body that was renamed.
  func done(_ key: String) -> SessionFile? { state.done(key) }

  /// A key's body that an earlier run was about to rename.
  func whole(_ key: String) -> SessionFile? { state.whole(key) }

  func hasFailed(_ key: String) -> Bool { state.hasFailed(key) }

  /// Whether an earlier run may have sent a request without a known outcome.
  func isInDoubt(_ key: String) -> Bool { state.isInDoubt(key) }

  func path(_ name: String) -> String { FileName.path(name, in: folder) }

  /// Notes a failure, for `--retry-failed`.
  ///
  /// - Parameter listing: The line about the URL, from ``listing(_:_:path:)``.
  func note(_ key: String, failed error: String, listing: String = "") {
    journal.add(listing + SessionEvent.failed(key: key, error: error).line)
  }

  /// Notes that a request failed and may have been processed, so that it stays in doubt.
  func note(inDoubt key: String, listing: String) { journal.add(listing + SessionEvent.sending(key: key).line) }

  /// Notes that a request was not sent after all.
  func note(unsent key: String) { journal.add(SessionEvent.unsent(key: key).line) }
}
