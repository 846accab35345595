import HeadgateDispatch
import HeadgateThreads

/// A body on its way into its part file and to its name. For one task.
final class PartWriter {
  private static let blockSize = 256 * 1024

  let key: String
  let name: String
  /// How much of the body there is, what waits to be written included.
  private(set) var size = 0
  private(set) var validator = Validator()
  private let session: Session
  private let lane: SerialLane
  private var block: [UInt8] = []
  private var file: Int32?

  init(_ key: String, named name: String, in session: Session) {
    (self.key, self.name, self.session) = (key, name, session)
    lane = SerialLane(on: session.crew)
  }

  deinit { if let file { Descriptor.close(file) } }

  private var partPath: String { session.path(name) + ".part" }

  /// Whether another request can go on with what there is.
  var canGoOn: Bool { size > 0 && validator.forRange != nil }

  /// The body follows, all of it.
  func begin(_ validator: Validator) {
    self.validator = validator
    (block, size) = ([], 0)
    closeFile()
  }

  /// The rest of the body follows.
  func goOn(from offset: Int, of validator: Validator) async throws(SystemError) {
    self.validator = validator
    block = []
    size = offset
    closeFile()
    try await openFile(at: offset)
  }

  func append(_ piece: [UInt8]) async throws(SystemError) {
    block += piece
    size += piece.count
    if block.count >= Self.blockSize { try await flush() }
  }

  /// Writes what waits. A body of which this is the beginning gets its line in the journal before: what is in the file is
  /// never more than what the journal knows the version of. One that is smaller than a block gets none.
  func flush() async throws(SystemError) {
    if file == nil {
      try await openFile(at: 0)
      if validator.forRange != nil {
        try await session.journal.write(SessionEvent.part(key: key, name: name, validator).line)
      }
    }
    guard let file, !block.isEmpty else { return }
    let bytes = block
    block = []
    try await lane.perform { () throws(SystemError) in try Descriptor.write(bytes, to: file) }
  }

  /// The body is whole: on the disk first, then in the journal, then under its name.
  func finish() async throws(SystemError) -> String {
    if file == nil { try await openFile(at: 0) }
    let bytes = block
    block = []
    guard let file else { throw SystemError(errno: 0) }
    let found = try await lane.perform { () throws(SystemError) in
      try Descriptor.write(bytes, to: file)
      try Descriptor.sync(file)
      return try Descriptor.found(file)
    }
    let whole = SessionFile(name: name, size: size, validator: validator)
    try await session.journal.sync(SessionEvent.whole(key: key, whole, inode: found.inode).line)
    closeFile()
    return try await session.name(whole, of: key)
  }

  /// It will not be whole in this run: keeps what another one can go on with, and removes the rest.
  func leave() async {
    if canGoOn, (try? await flush()) != nil {
      closeFile()
    } else {
      await drop()
    }
  }

  /// Removes what there is.
  func drop() async {
    (block, size) = ([], 0)
    closeFile()
    let path = partPath
    _ = try? await lane.perform { () throws(SystemError) in Descriptor.remove(path) }
  }

  private func openFile(at offset: Int) async throws(SystemError) {
    let path = partPath
    file = try await lane.perform { () throws(SystemError) in try Descriptor.openPart(path, at: offset) }
  }

  private func closeFile() {
    if let file { Descriptor.close(file) }
    file = nil
  }
}

extension Session {
  /// Gives a whole part file its name. Returns its path.
  func name(_ file: SessionFile, of key: String) async throws(SystemError) -> String {
    let path = path(file.name)
    try await looks.perform { () throws(SystemError) in try Descriptor.move(path + ".part", to: path) }
    try await folderSync.sync()
    confirm(key)
    return path
  }

  /// Notes that a body has its name. Not waited for: the file itself says so.
  func confirm(_ key: String) { journal.add(SessionEvent.done(key: key).line) }
}
