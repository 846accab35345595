import HeadgateThreads

/// Produces a body piece by piece, one piece for each request.
struct BodyProducer: Sendable {
  /// Delivers the next piece, the end, or an error to the feed: once, on any thread.
  let ask: @Sendable (BodyFeed) -> Void

  /// Stops producing. A piece under way is discarded.
  var stop: @Sendable () -> Void = {}
}

/// The destination of a producer's pieces.
struct BodyFeed: Sendable {
  let source: RequestBodySource
  let generation: Int

  func put(_ piece: [UInt8], last: Bool = false) {
    source.apply { $0.put(piece, last: last, of: generation) }
  }

  func fail(_ error: any Error) { source.apply { $0.fail(error, of: generation) } }
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
      feed.put([], last: true)
    } catch {
      feed.fail(error)
    }
  }
}

extension BodyProducer {
  /// Returns the bytes at an offset, at most one piece, and whether they are the last.
  typealias Read = @Sendable (_ offset: Int64) throws -> (bytes: [UInt8], isLast: Bool)

  /// Produces a body with random access: a file on its lane, memory directly.
  static func pieces(on lane: SerialLane? = nil, _ read: @escaping Read) -> BodyProducer {
    let offset = LockedBox<Int64>(0)
    @Sendable func bring(to feed: BodyFeed) {
      let start = offset.withLock { $0 }
      do {
        let (bytes, isLast) = try read(start)
        offset.withLock { $0 = start + Int64(bytes.count) }
        feed.put(bytes, last: isLast)
      } catch {
        feed.fail(error)
      }
    }
    guard let lane else { return BodyProducer(ask: bring) }
    return BodyProducer(ask: { feed in lane.run { bring(to: feed) } })
  }

  /// Iterates a sequence in a task, which is suspended until the next piece is requested.
  static func sequence(_ sequence: BodySequence) -> BodyProducer {
    let (stream, asks) = AsyncStream.makeStream(of: BodyFeed.self)
    let task = Task { await sequence.answer(stream) }
    return BodyProducer {
      asks.yield($0)
    } stop: {
      asks.finish()
      task.cancel()
    }
  }
}
