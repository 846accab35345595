import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// A run that another run can go on with: its journal, and the files in its folder.
///
/// What is on the disk first: the body, synced; then the journal's line that names it, synced; then the file's name, and
/// the folder, synced. So a name is never that of a body that is not whole, and a body that has its name is never asked for
/// again, at whatever moment the process or the machine ends.
final class Session: Sendable {
  /// How many URLs are looked at before those in front of them have ended.
  static let window = FetchRun.lookahead

  let folder: String
  let journal: GroupSync
  let folderSync: GroupSync
  /// For looking at files.
  let crew = LaneCrew(name: "headgate-session", size: 4)
  let looks: SerialLane
  let boot: String?
  let room = Semaphore(name: "headgate-session", permits: Session.window)
  private let retryFailed: Bool
  private let newer: Bool
  private let state: Locked<SessionState>
  // What this run was asked for already: the same again is asked for once.
  private let seen = Locked<Set<String>>([])

  /// Opens a journal, or begins one.
  ///
  /// - Parameters:
  ///   - path: The journal's.
  ///   - folder: Where its files are.
  ///   - retryFailed: Whether only what failed is asked for.
  ///   - newer: Whether the server is asked for what changed.
  ///   - boot: A word for the machine's last start; nil: not known.
  /// - Throws: ``FetchProblem`` when it can't be had, is something else, or belongs to a run that is under way.
  init(
    _ path: String, folder: String, retryFailed: Bool = false, newer: Bool = false, boot: String? = Descriptor.boot()
  ) throws(FetchProblem) {
    (self.folder, self.boot, self.retryFailed, self.newer) = (folder, boot, retryFailed, newer)
    looks = SerialLane(on: crew)
    let (journal, known) = try Session.open(path, boot: boot ?? "")
    self.journal = GroupSync(journal, on: crew)
    state = Locked(known)
    folderSync = GroupSync(try Session.open(folder: folder), on: crew)
  }

  private static func open(folder: String) throws(FetchProblem) -> Int32 {
    do throws(SystemError) {
      return try Descriptor.openFolder(folder)
    } catch {
      throw FetchProblem("the folder \(folder) can't be read: \(error)")
    }
  }

  /// Opens the journal and notes that a run begins. Returns it and what it says.
  private static func open(_ path: String, boot: String) throws(FetchProblem) -> (Int32, SessionState) {
    var state = SessionState()
    let began = SessionEvent.began(boot: boot)
    let journal = try JournalFile.open(path, header: SessionEvent.header, of: "fetch") { lines in
      for line in lines { SessionEvent(line).map { state.apply($0) } }
      return began.line
    }
    state.apply(began)
    return (journal, state)
  }

  /// What is asked, as the journal has it.
  static func key(_ job: FetchJob) -> String {
    // That of the list, and not that of a Unix-domain socket that all of it is asked over.
    "\(job.request.method.rawValue) \((try? DispatchRequest(job.url))?.url ?? job.request.url)"
  }

  /// The names that belong to it.
  var names: [String] { state.withLock { $0.names } }

  /// The URLs that failed and have not come since.
  var failedURLs: [String] { state.withLock { $0.failedURLs } }

  /// Whether a URL of the list is to be left out: asked for already in this run, or not among those that failed.
  func passesOver(_ key: String) -> Bool {
    if retryFailed, !state.withLock({ $0.hasFailed(key) }) { return true }
    return !seen.withLock { $0.insert(key).inserted }
  }

  /// What is to be done about a key.
  func plan(_ key: String) async -> SessionState.Plan {
    let state = state.withLock { $0 }
    let plan = try? await looks.perform { [folder, boot, newer] () throws(SystemError) in
      state.plan(key, boot: boot, renews: newer) { Descriptor.found(FileName.path($0, in: folder)) }
    }
    return plan ?? .begin(name: nil)
  }

  func path(_ name: String) -> String { FileName.path(name, in: folder) }

  /// Notes a failure, for `--retry-failed`.
  func note(_ key: String, failed error: String) {
    journal.add(SessionEvent.failed(key: key, error: error).line)
  }
}
