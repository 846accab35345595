import HeadgateThreads

/// Counts the URLs and bad lines of a list while the run reads it.
enum ListCount {
  /// Not the readers' thread, which must not wait for a count.
  static let lane = SerialLane(on: LaneCrew(name: "headgate-count", size: 1))

  /// Nil if the list is not a regular file or can't be read, or if `isWanted` returns false. Blocks.
  static func of(_ path: String, _ format: ListFormat = .lines, while isWanted: () -> Bool) -> Int? {
    guard let descriptor = try? Descriptor.openForReading(path) else { return nil }
    defer { Descriptor.close(descriptor) }
    guard Descriptor.isRegularFile(descriptor) else { return nil }
    var text = InputText(format.cutter)
    var count = 0
    while isWanted() {
      guard let piece = text.next() ?? (try? Descriptor.read(descriptor, atMost: 64 * 1024)).map({ text.take($0) })
      else { return nil }
      switch piece {
      case .items(let lines): count += lines.count
      case .end: return count
      case .compressed, .broken: return nil
      }
    }
    return nil
  }
}
