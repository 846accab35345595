import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What a run of `headgate call` writes for those after it: the results, and the journal of a session.
///
/// What is on the disk when: the session's random word, from which automatic idempotency keys are made, before
/// anything is sent; that a row is about to be sent, before it is, if it may not be sent twice; a row's result,
/// before it is counted. So a kill or a power cut at any moment loses no word of what must not be done twice.
final class CallJournal: Sendable {
  /// The session's random word; that of this run alone without a session.
  let run: String
  /// The rows' results.
  let results: GroupSync
  /// Nil without a session.
  private let journal: GroupSync?
  private let state: Locked<CallState>

  /// Opens all that there is to be written.
  ///
  /// - Parameters:
  ///   - session: The journal's path; nil for a run that no other goes on with.
  ///   - results: The path of the results; nil: `output`.
  ///   - output: The standard output, which stays open.
  ///   - requests: What the options make of rows, as a digest.
  /// - Throws: ``FetchProblem`` for what can't be had, or belongs to other requests.
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
    // First, since the journal is not to be begun for results that it has nothing to do with.
    self.results = GroupSync(try ResultsFile.open(results) { state.apply($0) }, on: crew)
    let file = try JournalFile.open(session, header: CallEvent.header, of: "call") { lines throws(FetchProblem) in
      for line in lines { CallEvent(line).map { state.apply($0) } }
      guard state.run != nil || state.ended == 0 else {
        throw FetchProblem(
          "the results \(results) belong to another session than \(session), which is new; name another file with -o",
          status: .usage)
      }
      guard state.requests.map({ $0 == requests }) ?? true else {
        throw FetchProblem(
          "the session \(session) belongs to other requests (another --url, method, body or --idempotency-key): "
            + "its rows are not these; name another file with --session, and another one with -o",
          status: .usage)
      }
      return CallEvent.began(run: state.run ?? word, requests: requests).line
    }
    journal = GroupSync(file, on: crew)
    run = state.run ?? word
    self.state = Locked(state)
    do throws(SystemError) {
      for path in [session, results] { try Descriptor.syncFolder(of: path) }
      try Descriptor.sync(file)
    } catch {
      throw FetchProblem("the session \(session) can't be brought to the disk: \(error)")
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
      return try Descriptor.create(path)
    } catch {
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

  /// Whether another run can go on with this one.
  var isKept: Bool { journal != nil }

  /// What went wrong with either file first.
  var failure: SystemError? { results.failure ?? journal?.failure }

  /// What is to be done about a row.
  func plan(_ key: RowKey, mayRepeat: Bool, _ leave: CallState.Leave) -> CallState.Plan {
    state.withLock { $0.plan(key, mayRepeat: mayRepeat, leave) }
  }

  /// Notes that a row is about to be sent that may not be sent twice. Returns once that is on the disk.
  func sending(_ key: RowKey, results: Int) async throws(SystemError) {
    try await journal?.sync(CallEvent.sending(key, results: results).line)
  }

  /// Notes that it was not sent.
  func unsent(_ key: RowKey) { journal?.add(CallEvent.unsent(key).line) }

  /// Writes a result. Returns once it is on the disk, or with the system where no other run reads it.
  func add(_ line: String) async throws(SystemError) {
    if journal == nil { try await results.write(line) } else { try await results.sync(line) }
  }

  /// Writes what is left to write.
  func finish() async throws(SystemError) {
    try await results.write("")
    try await journal?.write("")
  }
}

extension Descriptor {
  /// Brings to the disk that a file has its name.
  fileprivate static func syncFolder(of path: String) throws(SystemError) {
    let end = path.lastIndex(of: "/")
    let folder = try openFolder(end.map { String(path[...$0]) } ?? ".")
    defer { close(folder) }
    try sync(folder)
  }

  /// Another number for the same open file.
  fileprivate static func duplicate(_ descriptor: Int32) throws(SystemError) -> Int32 {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw .last }
    return copy
  }
}
