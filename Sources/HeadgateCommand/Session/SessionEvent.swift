import HeadgateDispatch

/// A complete body.
struct SessionFile: Hashable, Sendable {
  /// The file's name in its folder.
  var name: String
  var size: Int
  var validator: Validator
  /// The checksum that the body was compared with. Nil: it was not compared.
  var checksum: Checksum?
}

/// The events of a session's journal, one per line.
enum SessionEvent: Hashable, Sendable {
  /// A run began. `boot` identifies the machine's last boot.
  case began(boot: String)
  /// The current run is about to create `name.part` for the body of a key. An earlier part of the key is void. A later
  /// run removes only part files that a journal of its own knows by this.
  case creating(key: String, name: String)
  /// The current run stores the body of a key in `name.part`. Without a validator, the part can't be continued.
  case part(key: String, name: String, Validator, PartIdentity)
  /// `name.part`, with this inode number, is complete and on disk, and is about to be renamed.
  case whole(key: String, SessionFile, inode: UInt64)
  /// The file has been renamed, or the server says that it is current. This event is not synced, since the file itself
  /// is the evidence.
  case done(key: String)
  /// What the list and the options said about a URL that fails, or must not be sent twice.
  case listed(key: String, ListedURL)
  /// The request failed, with this error code.
  case failed(key: String, error: String)
  /// A request that must not be sent twice is about to be sent. Until it ends, its outcome is unknown.
  case sending(key: String)
  /// It was not sent after all.
  case unsent(key: String)
}

extension SessionEvent {
  /// The first line of every journal.
  static let header = "headgate-session 1"

  /// The event as a line, with the line feed.
  var line: String {
    let fields: [String]
    switch self {
    case .began(let boot): fields = ["began", boot]
    // Earlier versions read it as a part that can't be continued.
    case .creating(let key, let name): fields = ["part", key, name, "", "", "0"]
    case .part(let key, let name, let validator, let identity):
      fields = ["part", key, name] + Self.fields(validator) + identity.fields
    case .whole(let key, let file, let inode):
      fields =
        ["whole", key, file.name, "\(file.size)", "\(inode)"] + Self.fields(file.validator)
        + (file.checksum.map { ["\($0)"] } ?? [])
    case .done(let key): fields = ["done", key]
    case .listed(let key, let listed):
      fields = ["listed", key, listed.path, listed.checksum?.description ?? ""] + listed.mirrors
    case .failed(let key, let error): fields = ["failed", key, error]
    case .sending(let key): fields = ["sending", key]
    case .unsent(let key): fields = ["unsent", key]
    }
    return JournalLine.text(fields)
  }

  /// Reads a line without its line feed. Nil if it is incomplete or of another version.
  init?(_ line: ArraySlice<UInt8>) {
    guard let fields = JournalLine.fields(line) else { return nil }
    switch (fields.first, fields.count) {
    case ("began", 2): self = .began(boot: fields[1])
    case ("part", 6...):
      guard let identity = PartIdentity(fields[5...]) else { return nil }
      self =
        identity.inode == 0
        ? .creating(key: fields[1], name: fields[2])
        : .part(key: fields[1], name: fields[2], Self.validator(fields[3...4]), identity)
    case ("whole", 7...8):
      guard let size = Int(fields[3]), size >= 0, let inode = UInt64(fields[4]) else { return nil }
      var file = SessionFile(name: fields[2], size: size, validator: Self.validator(fields[5...6]))
      if fields.count > 7 {
        guard let checksum = Checksum(fields[7]) else { return nil }
        file.checksum = checksum
      }
      self = .whole(key: fields[1], file, inode: inode)
    case ("done", 2): self = .done(key: fields[1])
    case ("listed", 4...):
      let checksum = Checksum(fields[3])
      guard checksum != nil || fields[3].isEmpty else { return nil }
      self = .listed(key: fields[1], ListedURL(path: fields[2], checksum: checksum, mirrors: Array(fields[4...])))
    case ("failed", 3): self = .failed(key: fields[1], error: fields[2])
    case ("sending", 2): self = .sending(key: fields[1])
    case ("unsent", 2): self = .unsent(key: fields[1])
    default: return nil
    }
  }

  // An empty field stands for nil.
  private static func fields(_ validator: Validator) -> [String] { [validator.tag ?? "", validator.modified ?? ""] }

  private static func validator(_ fields: ArraySlice<String>) -> Validator {
    Validator(tag: fields.first, modified: fields.last)
  }
}
