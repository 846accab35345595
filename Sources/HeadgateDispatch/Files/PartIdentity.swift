/// Identifies a part file. The inode number is not enough: the system uses it again as soon as it is free, perhaps for
/// the part of another body.
package struct PartIdentity: Hashable, Sendable {
  /// The beginning of a body: its first bytes, as many as there were when the file was created, up to a limit.
  private struct Beginning: Hashable {
    let count: Int
    let checksum: Checksum
  }

  private static let mostCompared = 64 * 1024

  package let inode: UInt64
  /// Nil in the journals of earlier versions.
  private var beginning: Beginning?

  /// The number of bytes that a file has at least that begins with them.
  package var leastSize: Int { beginning?.count ?? 0 }

  /// - Parameter bytes: The bytes that are written first.
  package init(inode: UInt64, first bytes: [UInt8]) {
    var hash = SHA256()
    hash.update(Array(bytes.prefix(Self.mostCompared)))
    self.inode = inode
    beginning = Beginning(count: min(bytes.count, Self.mostCompared), checksum: Checksum(hash))
  }

  /// Whether a file with the same inode number begins with the same bytes. Blocks.
  package func isBeginning(of path: String) -> Bool {
    guard let beginning else { return true }
    guard let file = try? Descriptor.openForReading(path) else { return false }
    defer { Descriptor.close(file) }
    var bytes: [UInt8] = []
    while bytes.count < beginning.count,
      let piece = try? Descriptor.read(file, at: bytes.count, atMost: beginning.count - bytes.count), !piece.isEmpty
    {
      bytes += piece
    }
    return PartIdentity(inode: inode, first: bytes).beginning == beginning
  }
}

extension PartIdentity {
  /// Its fields in a journal's line.
  package var fields: [String] { ["\(inode)"] + (beginning.map { ["\($0.count)", "\($0.checksum)"] } ?? []) }

  /// Reads the fields. Nil if they are incomplete.
  package init?(_ fields: ArraySlice<String>) {
    guard let inode = fields.first.flatMap({ UInt64($0) }) else { return nil }
    self.inode = inode
    let rest = fields.dropFirst()
    guard let count = rest.first else { return }
    guard let count = Int(count), count >= 0, count <= Self.mostCompared, rest.count == 2,
      let checksum = rest.last.flatMap({ Checksum($0) })
    else { return nil }
    beginning = Beginning(count: count, checksum: checksum)
  }
}
