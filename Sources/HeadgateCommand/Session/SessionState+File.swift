import HeadgateDispatch
import HeadgateLibC

extension SessionState {
  /// Reads a journal without changing it, even if another run is using it. A missing journal is empty.
  ///
  /// - Throws: ``FetchProblem`` if it can't be read or is not a journal.
  static func peek(_ path: String) throws(FetchProblem) -> SessionState {
    guard let (state, _) = read(try JournalFile.peek(path)) else {
      throw FetchProblem("the file \(path) is not a session of headgate fetch")
    }
    return state
  }

  /// Determines what to do for a key by the files in a folder, and by the checksum of a complete one. Blocks.
  ///
  /// - Parameters:
  ///   - mayRepeat: Whether the request may be sent twice.
  ///   - expected: Returns the checksum for the name of a file, or nil.
  /// - Returns: The plan, and the lines that the journal gets about a body that matches.
  func plan(
    _ key: String, in folder: String, boot: String?, renews: Bool, retriesFailed: Bool, repeatsUnsafe: Bool,
    mayRepeat: Bool, resumes: Bool, overwrites: Bool, _ expected: (String) -> Checksum?
  ) -> (plan: Plan, lines: String) {
    let find = { Descriptor.found(FileName.path($0, in: folder)) }
    let plan = plan(
      key, boot: boot, renews: renews, renewsFailed: retriesFailed && resumes, repeatsUnsafe: repeatsUnsafe,
      resumes: resumes, overwrites: overwrites, find)
    if case .goOn(let name, _) = plan, part(key)?.isBeginning(of: FileName.path(name, in: folder) + ".part") != true {
      return (.begin(name: nil), "")
    }
    // A body that must not be requested twice can't be replaced.
    guard mayRepeat else { return (plan, "") }
    let verified = plan.verified(
      key, in: folder, mayReplace: { overwrites || isDone(key, named: $0) }, expected)
    if case .begin(let name?) = verified.plan, isTaken(key, partOf: name, find) { return (.begin(name: nil), "") }
    return verified
  }

  /// The URLs that failed and have not succeeded since, and how many others failed with another method or body.
  func failedURLs(_ sent: SentRequest) -> (entries: [ListEntry], others: Int) {
    let failed = failed
    let entries = failed.compactMap { key in
      sent.url(ofKey: key).map { url in
        let listed = listed(key)
        return ListEntry(urls: [url] + (listed?.mirrors ?? []), checksum: listed?.checksum)
      }
    }
    return (entries, failed.count - entries.count)
  }
}
