import HeadgateThreads

/// Counts the URLs and bad lines of a list beside the reading of it.
enum ListCount {
  /// Not that of the readers, which must not wait for it.
  static let lane = SerialLane(on: LaneCrew(name: "headgate-count", size: 1))

  /// Nil for a list that is no file, can't be read, is compressed, or where it is not wanted any more. Blocks.
  static func of(_ path: String, while isWanted: () -> Bool) -> Int? {
    guard let descriptor = try? Descriptor.openForReading(path) else { return nil }
    defer { Descriptor.close(descriptor) }
    guard Descriptor.isRegularFile(descriptor) else { return nil }
    var splitter = LineSplitter()
    var count = 0
    var isFirst = true
    while isWanted() {
      guard let piece = try? Descriptor.read(descriptor, atMost: 64 * 1024) else { return nil }
      if isFirst, Compression(startingWith: piece) != nil { return nil }
      isFirst = false
      if piece.isEmpty { return count + splitter.finish().count }
      count += splitter.cut(piece).count
    }
    return nil
  }
}
