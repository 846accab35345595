import HeadgateDispatch
import HeadgateTesting

@testable import HeadgateCommand

/// A plan to continue a part.
func goOn(_ name: String, _ size: Int, _ version: Validator) -> SessionState.Plan? {
  PartialBody(size: size, version).map { .goOn(name: name, $0) }
}

/// A folder and a journal of a run that may end at any moment, and additional knowledge about them.
struct SessionModel {
  struct File: Equatable {
    var version: Int
    var size: Int
    var inode: UInt64
  }

  private struct Work {
    var version: Int
    var length: Int
    var isNoted = false
    var isWhole = false
  }

  static let keys = (0..<4).map { "GET http://a/\($0)?\t\\\n" }

  var random: SeededRandom
  var boot = 0
  var journal: [UInt8] = Array("headgate-session 1\n".utf8)
  /// The parts of the journal and of the folder's names that survive a power cut.
  private var synced = 0
  private var names: [String: File] = [:]
  private var syncedNames: [String: File] = [:]
  private var work: [Int: Work] = [:]
  private var inodes: UInt64 = 0
  private var versions = 0
  /// The length of each version's body.
  private(set) var lengths: [Int: Int] = [:]

  init(seed: Int) {
    random = SeededRandom(seed: UInt64(seed))
    start()
  }

  func file(_ name: String) -> File? { names[name] }

  func find(_ name: String) -> FoundFile? {
    names[name].map { FoundFile(size: $0.size, inode: $0.inode) }
  }

  static func validator(_ version: Int) -> Validator { Validator(tag: "\"\(version)\"", modified: nil) }

  mutating func start() {
    work = [:]
    if journal.last != UInt8(ascii: "\n") { journal.append(UInt8(ascii: "\n")) }
    append(.began(boot: "\(boot)"))
  }

  private mutating func append(_ event: SessionEvent) {
    journal += Array(event.line.utf8)
    // Files that others may have left there, and a line that was written twice.
    switch Int.random(in: 0..<12, using: &random) {
    case 0: journal += Array(event.line.utf8)
    case 1: journal += Array("deadbeef\tdone\t\(Self.keys[0])\n\u{0}\u{FF}\n\n".utf8)
    default: break
    }
  }

  /// One step of one key, in the order of a run's steps.
  mutating func step() {
    let index = Int.random(in: 0..<Self.keys.count, using: &random)
    let (key, name) = (Self.keys[index], "file\(index)")
    guard var current = work[index] else {
      if takeOver(key, name) { return }
      versions += 1
      inodes += 1
      work[index] = Work(version: versions, length: Int.random(in: 1..<9, using: &random))
      lengths[versions] = work[index]?.length
      append(.creating(key: key, name: name))
      names[name + ".part"] = File(version: versions, size: 0, inode: inodes)
      return
    }
    defer { if work[index] != nil { work[index] = current } }
    guard var part = names[name + ".part"] else {
      syncedNames = names
      append(.done(key: key))
      work[index] = nil
      return
    }
    if !current.isNoted {
      append(.part(key: key, name: name, Self.validator(current.version), PartIdentity(inode: part.inode, first: [])))
      current.isNoted = true
    } else if part.size < current.length {
      part.size += 1
      names[name + ".part"] = part
    } else if !current.isWhole {
      let file = SessionFile(name: name, size: part.size, validator: Self.validator(current.version))
      append(.whole(key: key, file, inode: part.inode))
      synced = journal.count
      syncedNames[name + ".part"] = part
      current.isWhole = true
    } else {
      names[name] = part
      names[name + ".part"] = nil
      if Bool.random(using: &random) { syncedNames = names }
    }
  }

  /// A run's first step for a key whose body does not have its name yet, according to the journal. False: nothing.
  private mutating func takeOver(_ key: String, _ name: String) -> Bool {
    switch SessionState.read(journal)?.state.plan(key, boot: "\(boot)", { find($0) }) {
    case .confirm:
      syncedNames = names
      append(.done(key: key))
    case .name:
      names[name] = names.removeValue(forKey: name + ".part")
      syncedNames = names
      append(.done(key: key))
    default: return false
    }
    return true
  }

  /// The process ends: the line being written may be torn.
  mutating func kill() {
    let start = journal.dropLast().lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    guard start >= synced, start > 18, Bool.random(using: &random) else { return }
    // Only steps without a later one: otherwise the order of the steps would not be kept.
    guard SessionEvent(journal[start...].dropLast()).map({ if case .done = $0 { true } else { false } }) == true else {
      return
    }
    journal.removeLast(Int.random(in: 1...(journal.count - start), using: &random))
  }

  /// The machine ends: unsynced data may be lost.
  mutating func cutPower() {
    boot += 1
    journal.removeLast(Int.random(in: 0...(journal.count - max(synced, 19)), using: &random))
    // In order, so that a seed always means the same.
    for (name, file) in names.sorted(by: { $0.key < $1.key }) where syncedNames[name] != file {
      names[name] = Bool.random(using: &random) ? syncedNames[name] : file
      // Lengths are stored before contents.
      if name.hasSuffix(".part"), syncedNames[name] == nil, names[name] != nil { names[name]?.version = -1 }
    }
    for (name, file) in syncedNames where names[name] == nil && name.hasSuffix(".part") {
      if names[String(name.dropLast(5))]?.inode != file.inode { names[name] = file }
    }
    syncedNames = names
  }
}
