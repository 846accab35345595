/// What a validator says of a body: which version of it this is. Of a URL, never of a body that another URL names too.
struct Validator: Hashable, Sendable {
  /// The field ETag as it came.
  var tag: String?
  /// The field Last-Modified as it came.
  var modified: String?

  /// What `If-Range` may have: only a validator that is strong, since a part of one version is put before a part of
  /// another otherwise (RFC 9110, section 13.1.5). A date is strong only if nothing changed within its second, which
  /// nobody knows here: it is not taken.
  var forRange: String? { tag.flatMap { $0.hasPrefix("W/") ? nil : $0 } }

  var isEmpty: Bool { tag == nil && modified == nil }
}

/// A body that is whole.
struct SessionFile: Hashable, Sendable {
  /// The file's name in its folder.
  var name: String
  var size: Int
  var validator: Validator
}

/// What a session's journal tells, one a line.
enum SessionEvent: Hashable, Sendable {
  /// A run began, on a machine that was started then (a word that no other start has).
  case began(boot: String)
  /// The body of a key begins to be stored in `name.part`, by the run that began last.
  case part(key: String, name: String, Validator)
  /// `name.part`, which has this number in its file system, is whole and on the disk, and is about to get its name.
  case whole(key: String, SessionFile, inode: UInt64)
  /// It has its name. Not synced: the file itself says so too.
  case done(key: String)
  /// It failed: a code of an error.
  case failed(key: String, error: String)
}

extension SessionEvent {
  /// The first line of every journal.
  static let header = "headgate-session 1"

  /// The event as a line, with the line feed.
  var line: String {
    let fields: [String]
    switch self {
    case .began(let boot): fields = ["began", boot]
    case .part(let key, let name, let validator): fields = ["part", key, name] + Self.fields(validator)
    case .whole(let key, let file, let inode):
      fields = ["whole", key, file.name, "\(file.size)", "\(inode)"] + Self.fields(file.validator)
    case .done(let key): fields = ["done", key]
    case .failed(let key, let error): fields = ["failed", key, error]
    }
    return JournalLine.text(fields)
  }

  /// Reads a line without its line feed; nil for one that is torn, or that another version wrote.
  init?(_ line: ArraySlice<UInt8>) {
    guard let fields = JournalLine.fields(line) else { return nil }
    switch (fields.first, fields.count) {
    case ("began", 2): self = .began(boot: fields[1])
    case ("part", 5): self = .part(key: fields[1], name: fields[2], Self.validator(fields[3...]))
    case ("whole", 7):
      guard let size = Int(fields[3]), size >= 0, let inode = UInt64(fields[4]) else { return nil }
      let file = SessionFile(name: fields[2], size: size, validator: Self.validator(fields[5...]))
      self = .whole(key: fields[1], file, inode: inode)
    case ("done", 2): self = .done(key: fields[1])
    case ("failed", 3): self = .failed(key: fields[1], error: fields[2])
    default: return nil
    }
  }

  // An empty field stands for none: no server's field is empty by then.
  private static func fields(_ validator: Validator) -> [String] { [validator.tag ?? "", validator.modified ?? ""] }

  private static func validator(_ fields: ArraySlice<String>) -> Validator {
    let parts = fields.map { $0.isEmpty ? nil : $0 }
    return Validator(tag: parts.first ?? nil, modified: parts.last ?? nil)
  }
}
