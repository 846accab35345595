import HeadgateThreads

/// A body, or the beginning of one, that came before its turn: small ones wait in memory, larger ones in a file
/// without a name.
///
/// It is stored rather than left at the server, since a transfer that is held keeps its permit, which the one whose
/// turn it is may be waiting for.
final class HeldBody {
  private static let mostInMemory = 256 * 1024

  private var memory: [UInt8] = []
  private var file: Int32?
  private let lane: SerialLane

  init(on crew: LaneCrew) { lane = SerialLane(on: crew) }

  deinit { if let file { Descriptor.close(file) } }

  /// Adds a piece.
  func append(_ piece: [UInt8]) async throws(OutputError) {
    memory += piece
    guard memory.count > Self.mostInMemory else { return }
    let bytes = memory
    memory = []
    let opened = file
    do throws(SystemError) {
      file = try await lane.perform { () throws(SystemError) in
        let file = if let opened { opened } else { try Descriptor.temporary() }
        try Descriptor.write(bytes, to: file)
        return file
      }
    } catch {
      throw OutputError(place: "a temporary file", cause: error)
    }
  }

  /// Hands out all that was added, block by block, and is empty then.
  func empty(into write: ([UInt8]) async throws(OutputError) -> Void) async throws(OutputError) {
    if let file {
      var offset = 0
      while true {
        let block = try await block(of: file, at: offset)
        guard !block.isEmpty else { break }
        offset += block.count
        try await write(block)
      }
      Descriptor.close(file)
      self.file = nil
    }
    guard !memory.isEmpty else { return }
    try await write(memory)
    memory = []
  }

  private func block(of file: Int32, at offset: Int) async throws(OutputError) -> [UInt8] {
    do throws(SystemError) {
      return try await lane.perform { () throws(SystemError) in
        try Descriptor.read(file, at: offset, atMost: 256 * 1024)
      }
    } catch {
      throw OutputError(place: "a temporary file", cause: error)
    }
  }
}

/// The output, or what stands in for it, took no more.
struct OutputError: Error, CustomStringConvertible {
  let place: String
  let cause: SystemError

  var description: String { "\(place): \(cause)" }
}
