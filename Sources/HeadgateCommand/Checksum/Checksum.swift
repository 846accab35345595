import HeadgateDispatch

extension Checksum {
  /// The checksum of a file. Blocks.
  init(ofFile path: String) throws(SystemError) {
    let file = try Descriptor.openForReading(path)
    defer { Descriptor.close(file) }
    var hash = SHA256()
    while case let piece = try Descriptor.read(file, atMost: 256 * 1024), !piece.isEmpty { hash.update(piece) }
    self.init(hash)
  }
}
