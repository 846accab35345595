import HeadgateDispatch

/// The state of all keys in a session's journal: the sum of its events.
///
/// A key identifies a request: the method, the URL without user name, password and fragment, and a digest of the body, if
/// there is one. The list may therefore be reordered, shortened and extended between two runs.
struct SessionState: Sendable {
  private struct Entry {
    /// The last body that was renamed, as far as the journal knows.
    var done: SessionFile?
    /// A body that was about to be renamed.
    var whole: (file: SessionFile, inode: UInt64)?
    /// An incomplete body, with the boot in which it was written. Without an identity, it can't be continued.
    var part: (name: String, validator: Validator, identity: PartIdentity?, boot: String)?
    var listed: ListedURL?
    var error: String?
    /// The request was sent, or was about to be, and must not be sent twice.
    var isSent = false

    /// The names that the body has or may have, the best one first.
    var names: [String] { [done?.name, whole?.file.name, part?.name].compactMap { $0 } }
  }

  /// What to do for a key.
  enum Plan: Hashable, Sendable {
    /// The body is complete. Nothing is left to do.
    case complete(SessionFile)
    /// The body is complete, and the journal must be updated.
    case confirm(SessionFile)
    /// The body is complete, and stays unless the server has a newer one.
    case renew(SessionFile)
    /// The part file is complete and must be renamed. If `renews` is true, the server is then asked for a newer body.
    case name(SessionFile, renews: Bool)
    /// The part file has the beginning of the body.
    case goOn(name: String, PartialBody)
    /// The whole body must be requested. The name is that of the key, if it has one.
    case begin(name: String?)
    /// The request must not be sent twice, and an earlier run may have sent it. Nothing is done.
    case unknown
  }

  private var entries: [String: Entry] = [:]
  private var boot = ""
  /// Whether a run has begun.
  private(set) var hasBegun = false

  /// The file names of all keys, which no other key may get.
  var names: [String] {
    entries.values.flatMap(\.names)
  }

  /// The keys that failed and have not succeeded since.
  var failed: [String] { entries.filter { hasFailed($0.value) }.map(\.key).sorted() }

  /// What identifies the part of a key's body that an earlier run has noted. Nil if none has.
  func part(_ key: String) -> PartIdentity? { entries[key]?.part?.identity }

  /// Whether an existing part file is one that an earlier run has created for a key, or was about to create.
  func ownsPart(_ key: String, named name: String, inode: UInt64) -> Bool {
    entries[key].map { ownsPart($0, named: name, inode) } ?? false
  }

  /// Whether there is a part file of a name that is not the key's.
  func isTaken(_ key: String, partOf name: String, _ find: (String) -> FoundFile?) -> Bool {
    find(name + ".part").map { !ownsPart(key, named: name, inode: $0.inode) } ?? false
  }

  private func ownsPart(_ entry: Entry, named name: String, _ inode: UInt64) -> Bool {
    if let part = entry.part { return part.name == name && part.identity.map { $0.inode == inode } ?? true }
    return entry.whole.map { $0.file.name == name && $0.inode == inode } ?? false
  }

  /// The file of a key's last body that was renamed.
  func done(_ key: String) -> SessionFile? { entries[key]?.done }

  /// Whether a request may have been sent, and its outcome is unknown.
  func isInDoubt(_ key: String) -> Bool { entries[key]?.isSent == true }

  /// Whether a key's body is complete under this name, as far as the journal knows.
  func isDone(_ key: String, named name: String) -> Bool { entries[key]?.done?.name == name }

  /// Whether a key's body was at least about to be renamed to this name.
  func owns(_ key: String, named name: String) -> Bool {
    isDone(key, named: name) || entries[key]?.whole?.file.name == name
  }

  /// A key's body that was about to be renamed. Nil once it has been, as far as the journal knows.
  func whole(_ key: String) -> SessionFile? { entries[key]?.whole?.file }

  /// What an earlier run knew about a key that failed.
  func listed(_ key: String) -> ListedURL? { entries[key]?.listed }

  /// Whether an earlier run has noted anything about a key.
  func knows(_ key: String) -> Bool { entries[key] != nil }

  func hasFailed(_ key: String) -> Bool { entries[key].map(hasFailed) ?? false }

  private func hasFailed(_ entry: Entry) -> Bool { entry.error != nil || entry.isSent }

  mutating func apply(_ event: SessionEvent) {
    switch event {
    case .began(let boot): (self.boot, hasBegun) = (boot, true)
    case .creating(let key, let name): rewrite(key, part: (name, Validator(), nil, boot))
    case .part(let key, let name, let validator, let identity): rewrite(key, part: (name, validator, identity, boot))
    case .whole(let key, let file, let inode):
      entries[key, default: Entry()].whole = (file, inode)
      entries[key]?.part = nil
      entries[key]?.isSent = false
    case .done(let key):
      // Without a new body, the one that was renamed before is current.
      guard let whole = entries[key]?.whole else {
        entries[key]?.error = nil
        return
      }
      entries[key] = Entry(done: whole.file)
    case .listed(let key, let listed): entries[key, default: Entry()].listed = listed
    case .failed(let key, let error):
      entries[key, default: Entry()].error = error
      entries[key]?.isSent = false
    case .sending(let key): entries[key, default: Entry()].isSent = true
    case .unsent(let key): entries[key]?.isSent = false
    }
  }

  private mutating func rewrite(_ key: String, part: (String, Validator, PartIdentity?, String)) {
    entries[key, default: Entry()].part = part
    // The file of that event is being rewritten.
    entries[key]?.whole = nil
  }

  /// Determines what to do for a key.
  ///
  /// A body counts as complete if a file of its name and size exists. If the journal ends before the rename, the file
  /// must also have the inode number that the journal notes. So must a part file: another session may have replaced it.
  /// And it counts only on the machine that wrote it and before its next boot: after a power cut, the last data may be
  /// missing from the disk.
  ///
  /// - Parameters:
  ///   - boot: An identifier of the machine's last boot. Nil if it is unknown.
  ///   - renews: Whether complete files are revalidated at the server.
  ///   - renewsFailed: Whether those are whose newer version has failed.
  ///   - repeatsUnsafe: Whether a request that may have been processed is sent again. An idempotency key that it has
  ///     now does not count: if it had been sent with one, the journal would not have it as being sent.
  ///   - resumes: Whether a range of the body can be requested.
  ///   - overwrites: Whether a body may replace a file that is not the session's, or not any more.
  ///   - find: Returns the file of a name in the folder.
  func plan(
    _ key: String, boot: String?, renews: Bool = false, renewsFailed: Bool = false, repeatsUnsafe: Bool = false,
    resumes: Bool = true, overwrites: Bool = false, _ find: (String) -> FoundFile?
  ) -> Plan {
    guard let entry = entries[key] else { return .begin(name: nil) }
    if let whole = entry.whole {
      let expected = FoundFile(size: whole.file.size, inode: whole.inode)
      if find(whole.file.name) == expected {
        return renews ? .renew(whole.file) : .confirm(whole.file)
      }
      if find(whole.file.name + ".part") == expected { return .name(whole.file, renews: renews) }
    }
    if let done = entry.done, find(done.name)?.size == done.size {
      return renews || renewsFailed && hasFailed(entry) ? .renew(done) : .complete(done)
    }
    if entry.isSent, !repeatsUnsafe { return .unknown }
    if resumes, let part = entry.part, part.boot == boot,
      let identity = part.identity, isFree(part.name, entry, overwrites, find),
      let found = find(part.name + ".part"), found.inode == identity.inode,
      found.size >= identity.leastSize, let body = PartialBody(size: found.size, part.validator)
    {
      return .goOn(name: part.name, body)
    }
    return .begin(name: entry.names.first { isFree($0, entry, overwrites, find) })
  }

  /// Whether the key may write to this name. Files and parts that another program has put there stay. So does a file of
  /// the key itself that has grown since, because somebody has edited it; one that has lost bytes is replaced.
  private func isFree(_ name: String, _ entry: Entry, _ overwrites: Bool, _ find: (String) -> FoundFile?) -> Bool {
    if let part = find(name + ".part"), !ownsPart(entry, named: name, part.inode) { return false }
    guard !overwrites, let found = find(name) else { return true }
    return entry.done.map { $0.name == name && found.size < $0.size } ?? false
  }
}

extension SessionState {
  /// The state of a journal, and whether its last line is incomplete. Lines that are not events are skipped.
  ///
  /// - Returns: Nil if the bytes are not a journal.
  static func read(_ bytes: [UInt8]) -> (state: SessionState, isTorn: Bool)? {
    guard let (lines, isTorn) = JournalFile.lines(bytes, SessionEvent.header) else { return nil }
    var state = SessionState()
    for line in lines { SessionEvent(line).map { state.apply($0) } }
    return (state, isTorn)
  }
}
