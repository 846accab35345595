import DequeModule

/// The pure half of a body being sent: pieces come in on request, and bytes go out when the transport has room.
///
/// One piece at a time is requested while less than `lowWater` bytes and less than a thousand pieces are buffered.
/// Memory therefore holds at most that and one piece, whatever the length of the body. With a declared length, the
/// last byte is withheld until the producer has ended, so that a body that is too long never looks complete to the
/// server.
struct BodyPump {
  /// Below this number of buffered bytes the producer is asked for more.
  static let standardLowWater = 64 * 1024
  // A piece also takes memory of its own, however short it is.
  private static let mostPieces = 1024

  typealias Wake = @Sendable () -> Void

  /// What to do after an event, with no lock held.
  struct Effects {
    /// Ask the producer of this generation for a piece.
    var asks: Int?
    /// Wake the reader: there are bytes, the end or an error.
    var wakes: Wake?
    /// Released outside the lock.
    var forgets: Wake?
    /// Stop the producer.
    var stops: BodyProducer?
  }

  let length: Int64?
  private let lowWater: Int
  let isReplayable: Bool
  // A body in memory: all of it is available at once, and again after a rewind.
  let whole: [UInt8]?

  // Nil before the first piece is asked for, and for a body in memory.
  private var producer: BodyProducer?
  // Distinguishes a producer's pieces from those of an earlier producer, before a rewind.
  private var generation = 0
  private var pieces: Deque<[UInt8]> = []
  // How much of the first piece was sent.
  private var offset = 0
  /// The number of buffered bytes.
  private(set) var bytes = 0
  private(set) var produced: Int64 = 0
  private(set) var taken: Int64 = 0
  private(set) var isAsked = false
  private(set) var hasEnded = false
  private(set) var isStopped = false
  private(set) var failure: (any Error)?
  private var wake: Wake?

  /// Creates a body with a producer.
  init(length: Int64?, isReplayable: Bool, lowWater: Int = standardLowWater) {
    self.length = length
    self.lowWater = lowWater
    self.isReplayable = isReplayable
    whole = nil
  }

  /// Creates a body from memory.
  init(_ bytes: [UInt8], isReplayable: Bool) {
    length = Int64(bytes.count)
    lowWater = 0
    self.isReplayable = isReplayable
    whole = bytes
    fill(bytes)
  }

  private mutating func fill(_ bytes: [UInt8]) {
    pieces = bytes.isEmpty ? [] : [bytes]
    self.bytes = bytes.count
    produced = Int64(bytes.count)
    hasEnded = true
  }

  /// Whether the transport waits for the producer.
  var isWaiting: Bool { wake != nil }

  /// Whether there are bytes to be read, now or later.
  var bringsMore: Bool { !isTaken && !isStopped && failure == nil }

  /// Whether all bytes were sent.
  var isTaken: Bool { hasEnded && bytes == 0 }

  // The last byte of a declared length is withheld until the end is known.
  private var free: Int { length == produced && !hasEnded ? max(0, bytes - 1) : bytes }

  // MARK: The transport's side

  /// Takes the bytes that are available and fit. On `wait`, `wake` is called once there is something to read.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer, _ wake: @escaping Wake) -> (BodyRead, Effects) {
    var effects = Effects()
    guard !isStopped, failure == nil else { return (.failed, effects) }
    let count = take(min(free, buffer.count), buffer)
    effects.asks = ask()
    if count > 0 || buffer.isEmpty { return (.bytes(count), effects) }
    if isTaken { return (.end, effects) }
    effects.forgets = self.wake
    self.wake = wake
    return (.wait, effects)
  }

  private mutating func take(_ count: Int, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    var copied = 0
    while copied < count, let piece = pieces.first {
      let part = min(count - copied, piece.count - offset)
      piece.withUnsafeBytes { piece in
        UnsafeMutableRawBufferPointer(rebasing: buffer[copied..<copied + part])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: piece[offset..<offset + part]))
      }
      copied += part
      offset += part
      guard offset == piece.count else { continue }
      offset = 0
      pieces.removeFirst()
    }
    bytes -= copied
    taken += Int64(copied)
    return copied
  }

  private mutating func ask() -> Int? {
    guard !isAsked, !hasEnded, !isStopped, failure == nil, bytes < lowWater, pieces.count < Self.mostPieces else {
      return nil
    }
    isAsked = true
    return generation
  }

  /// Rewinds to the start, for a transport that must send the body again. Returns false if the body can't be
  /// repeated.
  mutating func rewind() -> (done: Bool, effects: Effects) {
    guard !isStopped, failure == nil else { return (false, Effects()) }
    if taken == 0 { return (true, Effects()) }
    guard isReplayable else { return (false, Effects()) }
    let effects = Effects(forgets: wake.take(), stops: producer.take())
    clear()
    generation += 1
    (produced, taken, isAsked, hasEnded) = (0, 0, false, false)
    if let whole { fill(whole) }
    return (true, effects)
  }

  /// Stops the body. A waiting reader is woken and then reads `failed`.
  mutating func stop() -> Effects {
    isStopped = true
    clear()
    return Effects(wakes: wake.take(), stops: producer.take())
  }

  private mutating func clear() { (pieces, offset, bytes) = ([], 0, 0) }

  // MARK: The producer's side

  /// The producer, if it is of this generation. Nil before it has been made.
  func producer(of generation: Int) -> BodyProducer? { generation == self.generation ? producer : nil }

  /// Takes the producer of a generation. Returns false if it is not needed.
  mutating func use(_ producer: BodyProducer, of generation: Int) -> Bool {
    guard generation == self.generation, !isStopped else { return false }
    self.producer = producer
    return true
  }

  /// Accepts the piece that was requested. With `last`, no more pieces follow.
  mutating func put(_ piece: [UInt8], last: Bool = false, of generation: Int) -> Effects {
    guard isExpected(generation) else { return Effects() }
    isAsked = false
    produced += Int64(piece.count)
    if let length, produced > length {
      return fail(RequestBodyError(.tooLong, found: produced, expected: length))
    }
    if !piece.isEmpty {
      pieces.append(piece)
      bytes += piece.count
    }
    guard last else { return Effects(asks: ask(), wakes: free > 0 ? wake.take() : nil) }
    if let length, produced < length {
      return fail(RequestBodyError(.tooShort, found: produced, expected: length))
    }
    hasEnded = true
    return Effects(wakes: wake.take())
  }

  /// Accepts an error of the producer.
  mutating func fail(_ error: any Error, of generation: Int) -> Effects {
    guard isExpected(generation) else { return Effects() }
    isAsked = false
    return fail(error)
  }

  private func isExpected(_ generation: Int) -> Bool {
    generation == self.generation && isAsked && !isStopped && failure == nil
  }

  private mutating func fail(_ error: any Error) -> Effects {
    failure = error
    clear()
    return Effects(wakes: wake.take())
  }
}
