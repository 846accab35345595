import DequeModule

/// The pure half of a body being sent: pieces come in on request, and bytes go out when the transport has room.
///
/// One piece at a time is requested while less than `lowWater` bytes are buffered. Memory therefore holds at most
/// that and one piece, whatever the length of the body. With a declared length, the last byte is withheld until the
/// producer has ended, so that a body that is too long never looks complete to the server.
struct BodyPump {
  /// Below this number of buffered bytes the producer is asked for more.
  static let standardLowWater = 64 * 1024

  typealias Wake = @Sendable () -> Void

  /// What to do after an event, with no lock held.
  struct Effects {
    /// Ask the producer for a piece.
    var asks = false
    /// Wake the reader: there are bytes, the end or an error.
    var wakes: Wake?
    /// Released outside the lock.
    var drops: [[UInt8]] = []
    var forgets: Wake?
  }

  let length: Int64?
  private let lowWater: Int
  let isReplayable: Bool
  // A body in memory: all of it is available at once, and again after a rewind.
  let whole: [UInt8]?

  /// Distinguishes a producer's pieces from those of an earlier producer, before a rewind.
  private(set) var generation = 0
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

  /// Whether all bytes were sent.
  var isTaken: Bool { hasEnded && bytes == 0 }

  // The last byte of a declared length is withheld until the end is known.
  private var free: Int { length == produced && !hasEnded ? max(0, bytes - 1) : bytes }

  // MARK: The transport's side

  /// Takes the bytes that are available and fit. On `wait`, `wake` is called once there is something to read.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer, _ wake: @escaping Wake) -> (BodyRead, Effects) {
    var effects = Effects()
    guard !isStopped, failure == nil else { return (.failed, effects) }
    let count = take(min(free, buffer.count), buffer, &effects)
    effects.asks = wantsPiece()
    if count > 0 || buffer.isEmpty { return (.bytes(count), effects) }
    if isTaken { return (.end, effects) }
    effects.forgets = self.wake
    self.wake = wake
    return (.wait, effects)
  }

  private mutating func take(
    _ count: Int, _ buffer: UnsafeMutableRawBufferPointer, _ effects: inout Effects
  ) -> Int {
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
      effects.drops.append(pieces.removeFirst())
    }
    bytes -= copied
    taken += Int64(copied)
    return copied
  }

  private mutating func wantsPiece() -> Bool {
    guard !isAsked, !hasEnded, !isStopped, failure == nil, bytes < lowWater else { return false }
    isAsked = true
    return true
  }

  /// Rewinds to the start, for a transport that must send the body again. Returns false if the body can't be
  /// repeated.
  mutating func rewind() -> (done: Bool, effects: Effects) {
    guard !isStopped, failure == nil else { return (false, Effects()) }
    if taken == 0 { return (true, Effects()) }
    guard isReplayable else { return (false, Effects()) }
    var effects = Effects()
    clear(&effects)
    effects.forgets = wake.take()
    generation += 1
    (produced, taken, isAsked, hasEnded) = (0, 0, false, false)
    if let whole { fill(whole) }
    return (true, effects)
  }

  /// Stops the body. A waiting reader is woken and then reads `failed`.
  mutating func stop() -> Effects {
    var effects = Effects()
    isStopped = true
    effects.wakes = wake.take()
    clear(&effects)
    return effects
  }

  private mutating func clear(_ effects: inout Effects) {
    effects.drops += pieces
    (pieces, offset, bytes) = ([], 0, 0)
  }

  // MARK: The producer's side

  /// Accepts the piece that was requested. With `last`, no more pieces follow.
  mutating func put(_ piece: [UInt8], last: Bool = false, of generation: Int) -> Effects {
    guard isExpected(generation) else { return Effects(drops: [piece]) }
    isAsked = false
    produced += Int64(piece.count)
    if let length, produced > length {
      return fail(RequestBodyError(.tooLong, found: produced, expected: length))
    }
    if !piece.isEmpty {
      pieces.append(piece)
      bytes += piece.count
    }
    guard last else { return Effects(asks: wantsPiece(), wakes: free > 0 ? wake.take() : nil) }
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
    var effects = Effects(wakes: wake.take())
    clear(&effects)
    return effects
  }
}
