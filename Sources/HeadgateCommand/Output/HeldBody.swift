import HeadgateDispatch

/// A body, or its beginning, that arrived before its turn. Small bodies wait in memory, larger ones in an unnamed file.
///
/// It is stored rather than left at the server. A stalled transfer would keep its permit, and the body whose turn it is
/// may be waiting for that permit. Each call blocks.
final class HeldBody {
  private static let mostInMemory = 256 * 1024

  private var memory: [UInt8] = []
  private var file: Int32?
  private let space: HeldSpace
  private var taken = 0

  init(_ space: HeldSpace) { self.space = space }

  deinit { discard() }

  /// Drops all bytes and returns the disk space.
  func discard() {
    memory = []
    giveBack()
  }

  private func giveBack() {
    if let file { Descriptor.close(file) }
    file = nil
    space.give(back: taken)
    taken = 0
  }

  /// Adds a piece.
  ///
  /// It never waits for other bodies to return space, since the body whose turn it is may be waiting for this one's
  /// permit.
  func append(_ piece: [UInt8]) throws(OutputError) {
    memory += piece
    guard memory.count > Self.mostInMemory else { return }
    guard space.take(memory.count) else {
      // Before the end of this body's request, whose permit goes to another body, which may need the space.
      discard()
      throw OutputError(
        place: "bodies waiting for their turn",
        reason:
          "they would take more than \(Amount.bytes(space.limit)) of disk; write files with -P DIR, or raise --max-held"
      )
    }
    taken += memory.count
    let bytes = memory
    memory = []
    do throws(SystemError) {
      try Descriptor.write(bytes, to: openedFile())
    } catch {
      throw OutputError(place: "a temporary file", reason: "\(error)")
    }
  }

  // Stored as soon as it is open, so that `discard` closes it if a write fails.
  private func openedFile() throws(SystemError) -> Int32 {
    if let file { return file }
    let opened = try Descriptor.temporary()
    file = opened
    return opened
  }

  /// Passes all bytes to `write`, block by block, and leaves the body empty.
  func empty(into write: ([UInt8]) throws(OutputError) -> Void) throws(OutputError) {
    if let file {
      var offset = 0
      while true {
        let block = try block(of: file, at: offset)
        guard !block.isEmpty else { break }
        offset += block.count
        try write(block)
      }
      giveBack()
    }
    guard !memory.isEmpty else { return }
    try write(memory)
    memory = []
  }

  private func block(of file: Int32, at offset: Int) throws(OutputError) -> [UInt8] {
    do throws(SystemError) { return try Descriptor.read(file, at: offset, atMost: 256 * 1024) } catch {
      throw OutputError(place: "a temporary file", reason: "\(error)")
    }
  }
}

/// Writing to the output or to a temporary file failed.
struct OutputError: Error, CustomStringConvertible {
  let place: String
  let reason: String
  /// Whether the output itself failed, which all bodies share, and not the storage of one body.
  var isShared = false

  var description: String { "\(place): \(reason)" }
}
