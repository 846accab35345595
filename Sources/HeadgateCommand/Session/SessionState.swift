/// What a session's journal says of every key: the sum of its events.
///
/// A key is what is asked: the method and the URL, without a name and a password and without a fragment. So a list may be
/// shuffled, shortened and added to between two runs.
struct SessionState: Sendable {
  private struct Entry {
    /// The last body that got its name, as far as the journal knows.
    var done: SessionFile?
    /// One that was about to get it.
    var whole: (file: SessionFile, inode: UInt64)?
    /// One that had begun, and when the machine was started that wrote it.
    var part: (name: String, validator: Validator, boot: String)?
    var error: String?
  }

  /// What stands in the folder under a name.
  struct Found: Hashable, Sendable {
    var size: Int
    var inode: UInt64
  }

  /// What is to be done about a key.
  enum Plan: Hashable, Sendable {
    /// Its body is there: nothing.
    case there(SessionFile)
    /// Its body is there, and the journal is to say so.
    case confirm(SessionFile)
    /// Its body is there and stays, unless the server has another one.
    case renew(SessionFile)
    /// Its part file is whole: it only lacks its name.
    case name(SessionFile)
    /// Its part file has so many bytes of this version.
    case goOn(name: String, from: Int, Validator)
    /// To be asked for from its beginning. The name, if the key has one already.
    case begin(name: String?)
  }

  private var entries: [String: Entry] = [:]
  private var boot = ""

  /// The names that keys have: no other key may get them.
  var names: [String] {
    entries.values.compactMap { $0.done?.name ?? $0.whole?.file.name ?? $0.part?.name }
  }

  /// The keys that failed, and have not come since.
  var failed: [String] { entries.filter { $0.value.error != nil }.map(\.key).sorted() }

  func hasFailed(_ key: String) -> Bool { entries[key]?.error != nil }

  mutating func apply(_ event: SessionEvent) {
    switch event {
    case .began(let boot): self.boot = boot
    case .part(let key, let name, let validator):
      entries[key, default: Entry()].part = (name, validator, boot)
      // The file that this spoke of is being written anew.
      entries[key]?.whole = nil
    case .whole(let key, let file, let inode):
      entries[key, default: Entry()].whole = (file, inode)
      entries[key]?.part = nil
    case .done(let key):
      guard let whole = entries[key]?.whole else { return }
      entries[key] = Entry(done: whole.file)
    case .failed(let key, let error): entries[key, default: Entry()].error = error
    }
  }

  /// What is to be done about a key.
  ///
  /// A body is there when a file of its name and size is; for one whose journal ends before it had its name, when that
  /// very file has it. Its part file counts only for the machine that wrote it and has not been started anew since: what
  /// came last may not have reached the disk before a power cut.
  ///
  /// - Parameters:
  ///   - boot: A word for the machine's last start; nil: not known.
  ///   - renews: Whether the server is asked for what changed.
  ///   - find: What stands in the folder under a name.
  func plan(_ key: String, boot: String?, renews: Bool = false, _ find: (String) -> Found?) -> Plan {
    guard let entry = entries[key] else { return .begin(name: nil) }
    if let whole = entry.whole {
      let expected = Found(size: whole.file.size, inode: whole.inode)
      if find(whole.file.name) == expected {
        return renews ? .renew(whole.file) : .confirm(whole.file)
      }
      if find(whole.file.name + ".part") == expected { return .name(whole.file) }
    }
    if let done = entry.done, find(done.name)?.size == done.size {
      return renews ? .renew(done) : .there(done)
    }
    if let part = entry.part, part.boot == boot, part.validator.forRange != nil,
      isFree(part.name, entry, find), let size = find(part.name + ".part")?.size, size > 0
    {
      return .goOn(name: part.name, from: size, part.validator)
    }
    let name = entry.done?.name ?? entry.whole?.file.name ?? entry.part?.name
    return .begin(name: name.flatMap { isFree($0, entry, find) ? $0 : nil })
  }

  /// Whether a name is its key's to write to: what others have put there since stays, but what the key itself had there is
  /// replaced.
  private func isFree(_ name: String, _ entry: Entry, _ find: (String) -> Found?) -> Bool {
    entry.done?.name == name || find(name) == nil
  }
}

extension SessionState {
  /// The state that a journal's bytes make, and whether the last line is torn. Lines that are no events are passed over.
  ///
  /// - Returns: Nil for what is no journal.
  static func read(_ bytes: [UInt8]) -> (state: SessionState, isTorn: Bool)? {
    guard let (lines, isTorn) = JournalFile.lines(bytes, SessionEvent.header) else { return nil }
    var state = SessionState()
    for line in lines { SessionEvent(line).map { state.apply($0) } }
    return (state, isTorn)
  }
}
