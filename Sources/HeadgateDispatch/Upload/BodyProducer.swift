import HeadgateThreads
import Synchronization

/// Produces a body piece by piece, one piece for each request.
protocol BodyProducer: AnyObject, Sendable {
  /// Delivers the next piece, the end, or an error to the feed: once, on any thread.
  func ask(_ feed: BodyFeed)

  /// Stops producing. A piece under way is discarded.
  func stop()
}

/// The destination of a producer's pieces.
struct BodyFeed: Sendable {
  let source: RequestBodySource
  let generation: Int

  func put(_ piece: [UInt8], last: Bool = false) { source.put(piece, last: last, of: generation) }
  func end() { source.end(of: generation) }
  func fail(_ error: any Error) { source.fail(error, of: generation) }
}

/// Marks what can be used only once as used: a sequence that can't be iterated again, a permit that was returned.
package final class SingleUse: Sendable {
  private let used = Atomic(false)

  package init() {}

  var isUsed: Bool { used.load(ordering: .acquiring) }

  /// True for the first caller.
  package func take() -> Bool { !used.exchange(true, ordering: .acquiringAndReleasing) }
}

/// A type-erased sequence of pieces.
struct BodySequence: Sendable {
  let length: Int64?
  /// Nil for a sequence that is created for each use.
  let use: SingleUse?
  private let pieces: any BodyPieces

  init<Pieces: AsyncSequence>(
    length: Int64?, use: SingleUse?, _ make: @escaping @Sendable () -> Pieces
  ) where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
    self.length = length
    self.use = use
    pieces = Making(make: make)
  }

  /// Delivers the next piece to each feed that asks, until the sequence or the stream of feeds ends.
  func answer(_ asks: AsyncStream<BodyFeed>) async {
    var asks = asks.makeAsyncIterator()
    guard let first = await asks.next() else { return }
    guard use?.take() ?? true else {
      return first.fail(DispatchError(.bodyNotReplayable, phase: .sending, detail: "its sequence was already used"))
    }
    await pieces.answer(first, &asks)
  }
}

/// Erases the type of a sequence.
private protocol BodyPieces: Sendable {
  func answer(_ first: BodyFeed, _ asks: inout AsyncStream<BodyFeed>.Iterator) async
}

private struct Making<Pieces: AsyncSequence>: BodyPieces
where Pieces.Element: Sequence, Pieces.Element.Element == UInt8 {
  let make: @Sendable () -> Pieces

  func answer(_ first: BodyFeed, _ asks: inout AsyncStream<BodyFeed>.Iterator) async {
    var feed = first
    do {
      var pieces = make().makeAsyncIterator()
      while let piece = try await pieces.next() {
        feed.put(Array(piece))
        guard let next = await asks.next() else { return }
        feed = next
      }
      feed.end()
    } catch {
      feed.fail(error)
    }
  }
}

/// Produces a body with random access: a file on its lane, memory directly.
final class PieceProducer: BodyProducer {
  /// Returns the bytes at an offset, at most one piece, and whether they are the last.
  typealias Read = @Sendable (_ offset: Int64) throws -> (bytes: [UInt8], isLast: Bool)

  private let lane: SerialLane?
  private let offset = Locked<Int64>(0)
  private let read: Read

  init(on lane: SerialLane? = nil, _ read: @escaping Read) {
    self.lane = lane
    self.read = read
  }

  func ask(_ feed: BodyFeed) {
    guard let lane else { return bring(to: feed) }
    lane.run { [self] in bring(to: feed) }
  }

  private func bring(to feed: BodyFeed) {
    let offset = offset.withLock { $0 }
    do {
      let (bytes, isLast) = try read(offset)
      self.offset.withLock { $0 = offset + Int64(bytes.count) }
      feed.put(bytes, last: isLast)
    } catch {
      feed.fail(error)
    }
  }

  func stop() {}
}

/// Iterates a sequence in a task, which is suspended until the next piece is requested.
final class SequenceProducer: BodyProducer {
  private let asks: AsyncStream<BodyFeed>.Continuation
  private let task: Task<Void, Never>

  init(_ sequence: BodySequence) {
    let (stream, asks) = AsyncStream.makeStream(of: BodyFeed.self)
    self.asks = asks
    task = Task { await sequence.answer(stream) }
  }

  func ask(_ feed: BodyFeed) { asks.yield(feed) }

  func stop() {
    asks.finish()
    task.cancel()
  }
}
