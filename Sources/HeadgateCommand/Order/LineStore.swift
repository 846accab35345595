import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// Stores the waiting lines of a list on disk, in order for each end-point. It uses an unnamed file, which no other
/// user can read and which disappears with the process.
final class LineStore: Sendable {
  /// Why lines were not stored.
  enum Refusal: Error, Hashable {
    /// The store would exceed its bound.
    case bound
    case disk(SystemError)
  }

  /// Encoded lines of one end-point.
  struct Batch: Sendable {
    let endPoint: EndPoint
    var count = 0
    var bytes: [UInt8] = []

    mutating func add(_ line: StoredLine) {
      line.encode(into: &bytes)
      count += 1
    }
  }

  private struct State {
    var file: Int32?
    var table: BlockTable
    var chains: [EndPoint: BlockTable.Chain] = [:]
  }

  /// How many bytes are read first. The number is doubled as long as they contain too few lines.
  private static let readSize = 16 * 1024
  /// Up to this length in blocks, an empty file is not truncated.
  private static let keptLength = 256

  private let lane: SerialLane
  // Only the lane's jobs lock it, one at a time, so the lock is never contended.
  private let state: Locked<State>
  private let open: @Sendable () throws(SystemError) -> Int32

  /// - Parameters:
  ///   - crew: The threads that read and write.
  ///   - bound: The most bytes on disk.
  ///   - open: Opens the file, for the first line.
  init(
    on crew: LaneCrew, bound: Int,
    open: @escaping @Sendable () throws(SystemError) -> Int32 = { () throws(SystemError) in try Descriptor.temporary() }
  ) {
    lane = SerialLane(on: crew)
    state = Locked(State(table: BlockTable(most: bound / BlockTable.blockSize)))
    self.open = open
  }

  deinit { if let file = state.withLock({ $0.file }) { Descriptor.close(file) } }

  /// Adds all of the lines, or none if it throws.
  func append(_ batches: [Batch]) async throws(Refusal) {
    let refusal = await withContinuation { (continuation: CheckedContinuation<Refusal?, Never>) in
      lane.run { [self] in
        do throws(Refusal) {
          try store(batches)
          continuation.resume(returning: nil)
        } catch {
          continuation.resume(returning: error)
        }
      }
    }
    if let refusal { throw refusal }
  }

  /// Removes and returns the oldest lines of an end-point, at most `count`.
  func take(_ count: Int, of endPoint: EndPoint) async throws(SystemError) -> [StoredLine] {
    try await lane.perform { [self] () throws(SystemError) in try fetch(count, of: endPoint) }
  }

  /// Forgets all lines of an end-point.
  func forget(_ endPoint: EndPoint) async {
    await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
      lane.run { [self] in
        if let file = state.withLock({ $0.file }) { drop(.max, of: endPoint, file) }
        continuation.resume()
      }
    }
  }

  // MARK: On the lane

  private func store(_ batches: [Batch]) throws(Refusal) {
    let file: Int32
    do throws(SystemError) { file = try openedFile() } catch { throw .disk(error) }
    var before: [(EndPoint, BlockTable.Chain)] = []
    do throws(Refusal) {
      for batch in batches {
        let places = state.withLock { state -> [Range<Int>]? in
          var chain = state.chains[batch.endPoint] ?? BlockTable.Chain()
          before.append((batch.endPoint, chain))
          let places = state.table.extend(&chain, by: batch.bytes.count)
          state.chains[batch.endPoint] = chain
          return places
        }
        guard let places else { throw .bound }
        var written = 0
        for place in places {
          let piece = batch.bytes[written..<(written + place.count)]
          do throws(SystemError) { try Descriptor.write(piece, to: file, at: place.lowerBound) } catch {
            throw .disk(error)
          }
          written += place.count
        }
      }
    } catch {
      state.withLock { state in
        for (endPoint, earlier) in before.reversed() {
          guard var chain = state.chains[endPoint] else { continue }
          state.table.restore(&chain, to: earlier)
          state.chains[endPoint] = earlier.count == 0 ? nil : earlier
        }
      }
      throw error
    }
  }

  private func fetch(_ count: Int, of endPoint: EndPoint) throws(SystemError) -> [StoredLine] {
    guard let file = state.withLock({ $0.file }) else { return [] }
    var size = Self.readSize
    while true {
      let (places, whole) = state.withLock { state in
        let chain = state.chains[endPoint] ?? BlockTable.Chain()
        return (state.table.front(of: chain, atMost: size), chain.count)
      }
      var bytes: [UInt8] = []
      for place in places { bytes += try Descriptor.read(place, of: file) }
      let (lines, length) = StoredLine.decode(bytes, atMost: count)
      if lines.count < count, size < whole {
        size *= 2
        continue
      }
      drop(length, of: endPoint, file)
      return lines
    }
  }

  private func drop(_ length: Int, of endPoint: EndPoint, _ file: Int32) {
    state.withLock { state in
      guard var chain = state.chains[endPoint] else { return }
      state.table.drop(length, from: &chain)
      state.chains[endPoint] = chain.count == 0 ? nil : chain
    }
    // Returns the space to the disk. If that fails, the blocks are reused as they are.
    if state.withLock({ $0.table.used == 0 && $0.table.length > Self.keptLength }), ftruncate(file, 0) == 0 {
      state.withLock { $0.table.reset() }
    }
  }

  private func openedFile() throws(SystemError) -> Int32 {
    if let file = state.withLock({ $0.file }) { return file }
    let opened = try open()
    state.withLock { $0.file = opened }
    return opened
  }
}
