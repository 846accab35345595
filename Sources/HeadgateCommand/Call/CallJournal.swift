import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// The files that a run of `headgate call` writes for later runs: the results, and the journal of a session.
///
/// The following is on disk before the next step: the session's random word, from which automatic idempotency keys are
/// derived, before anything is sent; the note about a row that must not be sent twice, before it is sent; a result,
/// before it is counted, and before the next page of its row is requested. A kill or power cut at any moment therefore
/// loses no record of such a row.
final class CallJournal: Sendable {
  /// The random word of the session, or of this run if there is no session.
  let run: String
  /// The rows' results.
  let results: GroupSync
  /// Nil without a session.
  private let journal: GroupSync?
  private let state: Locked<CallState>

  /// Opens all files.
  ///
  /// - Parameters:
  ///   - session: The path of the journal. Nil for a run that can't be continued.
  ///   - results: The path of the results. Nil for `output`.
  ///   - output: Standard output, which stays open.
  ///   - requests: A digest of the options that determine the requests.
  /// - Throws: ``FetchProblem`` if a file can't be opened, or belongs to other requests.
  init(
    session: String?, results: String?, output: Int32, requests: String, on crew: LaneCrew
  ) throws(FetchProblem) {
    guard let session, let results else {
      run = Self.randomWord()
      state = Locked(CallState())
      journal = nil
      self.results = GroupSync(try Self.openPlain(results, output), on: crew)
      return
    }
    var state = CallState()
    let word = Self.randomWord()
    // First, because a journal must not be started for unrelated results.
    self.results = GroupSync(try ResultsFile.open(results) { state.apply($0) }, on: crew)
    let file = try JournalFile.open(session, header: CallEvent.header, of: "call") { lines throws(FetchProblem) in
      for line in lines { CallEvent(line).map { state.apply($0) } }
      try Self.check(state, session, results, requests)
      return CallEvent.began(run: state.run ?? word, requests: requests).line
    }
    journal = GroupSync(file, on: crew)
    run = state.run ?? word
    self.state = Locked(state)
    do throws(SystemError) {
      for path in [session, results] { try Descriptor.syncFolder(of: path) }
      try Descriptor.sync(file)
    } catch {
      throw FetchProblem("the session \(session) can't be written to disk: \(error)")
    }
  }

  /// The state of a session, which is not changed, even if another run is using it.
  ///
  /// - Throws: ``FetchProblem`` if a file can't be read, or belongs to other requests.
  static func peek(session: String, results: String, requests: String) throws(FetchProblem) -> CallState {
    var state = CallState()
    var scan = ResultsScan()
    do throws(SystemError) {
      try Descriptor.peek(results) { scan.add($0) { state.apply($0) } }
    } catch {
      throw FetchProblem("the results \(results) can't be read: \(error)")
    }
    guard scan.isOurs else { throw ResultsFile.foreign(results) }
    guard let (lines, _) = JournalFile.lines(try JournalFile.peek(session), CallEvent.header) else {
      throw FetchProblem("the file \(session) is not a session of headgate call")
    }
    for line in lines { CallEvent(line).map { state.apply($0) } }
    try check(state, session, results, requests)
    return state
  }

  private static func check(
    _ state: CallState, _ session: String, _ results: String, _ requests: String
  ) throws(FetchProblem) {
    guard state.run != nil || state.ended == 0 else {
      throw FetchProblem(
        "the results \(results) belong to another session, and \(session) is new; use another file with -o",
        status: .usage)
    }
    guard state.requests.map({ $0 == requests }) ?? true else {
      throw FetchProblem(
        "the session \(session) was made for other requests (another --url, method, body, --idempotency-key or "
          + "--next); use another file with --session, and another one with -o",
        status: .usage)
    }
  }

  private static func openPlain(_ path: String?, _ output: Int32) throws(FetchProblem) -> Int32 {
    guard let path, path != "-" else {
      do throws(SystemError) {
        return try Descriptor.duplicate(output)
      } catch {
        throw FetchProblem("the standard output can't be written: \(error)")
      }
    }
    do throws(CreationError) {
      return try Descriptor.create(path, existing: .mustBeEmpty)
    } catch {
      if error == .full {
        throw FetchProblem(
          "\(path) is not empty, and its results may be the only record of what was sent; give another file (a run that "
            + "began with --session is continued with it)",
          status: .usage)
      }
      throw FetchProblem("the results \(path) can't be written: \(error)")
    }
  }

  private static func randomWord() -> String {
    var random = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let digits = String(random.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }.joined()
  }

  /// The next action for a row.
  func plan(_ key: RowKey, _ leave: CallState.Leave) -> CallState.Plan {
    state.withLock { $0.plan(key, leave) }
  }

  /// Records that a row is about to be sent that must not be sent twice. Returns when the record is on disk.
  func sending(_ key: RowKey, results: Int) async throws(SystemError) {
    try await journal?.sync(CallEvent.sending(key, results: results).line)
  }

  /// Records that the row was not sent.
  func unsent(_ key: RowKey) { journal?.add(CallEvent.unsent(key).line) }

  /// Writes a result. Returns when it is on disk, or, without a session, when the system has accepted it.
  func add(_ line: String) async throws(SystemError) {
    if journal == nil { try await results.write(line) } else { try await results.sync(line) }
  }

  /// Writes all pending lines, and releases the files to other runs.
  func finish() async throws(SystemError) {
    defer {
      results.unlock()
      journal?.unlock()
    }
    try await results.write("")
    try await journal?.write("")
  }
}

extension Descriptor {
  /// Writes a folder to disk, so that a new file's name is stored.
  fileprivate static func syncFolder(of path: String) throws(SystemError) {
    let end = path.lastIndex(of: "/")
    let folder = try openFolder(end.map { String(path[...$0]) } ?? ".")
    defer { close(folder) }
    try sync(folder)
  }

  /// A duplicate of a descriptor.
  fileprivate static func duplicate(_ descriptor: Int32) throws(SystemError) -> Int32 {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw .last }
    return copy
  }
}
