import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The rules of sending a body, as a value.
@Suite struct BodyPumpTests {
  private func read(_ pump: inout BodyPump, _ count: Int = 100) -> (BodyRead, [UInt8], BodyPump.Effects) {
    var buffer = [UInt8](repeating: 0, count: count)
    let (outcome, effects) = buffer.withUnsafeMutableBytes { pump.read(into: $0) {} }
    if case .bytes(let taken) = outcome { return (outcome, Array(buffer[..<taken]), effects) }
    return (outcome, [], effects)
  }

  @Test("a body from memory is sent in order and ends, and again after a rewind")
  func memory() {
    var pump = BodyPump([1, 2, 3], isReplayable: true)
    #expect(read(&pump, 2).1 == [1, 2])
    #expect(read(&pump, 2).1 == [3])
    #expect(read(&pump).0 == .end)
    #expect(pump.rewind().done)
    #expect(read(&pump).1 == [1, 2, 3])
    var once = BodyPump([1, 2, 3], isReplayable: false)
    #expect(once.rewind().done, "nothing had gone out")
    _ = read(&once, 1)
    #expect(!once.rewind().done)
    #expect(read(&once).1 == [2, 3], "a rewind that is refused changes nothing")
    var empty = BodyPump([], isReplayable: false)
    #expect(read(&empty).0 == .end)
  }

  @Test("a producer is asked for one piece at a time, and only below the low-water mark")
  func asks() {
    var pump = BodyPump(length: nil, isReplayable: false, lowWater: 4)
    #expect(read(&pump).2.asks == 0)
    #expect(read(&pump).2.asks == nil, "it was asked already")
    #expect(pump.put([1, 2, 3], of: 0).asks == 0, "three wait, four may")
    #expect(pump.put([4, 5], of: 0).asks == nil)
    #expect(read(&pump, 1).2.asks == nil)
    #expect(read(&pump, 1).2.asks == 0)
  }

  @Test("an unrequested answer, or one of a producer from before a rewind, is ignored")
  func strangers() {
    var pump = BodyPump(length: nil, isReplayable: true, lowWater: 4)
    _ = pump.put([9], of: 0)
    #expect(pump.bytes == 0)
    _ = read(&pump)
    _ = pump.put([1, 2], of: 0)
    #expect(read(&pump, 1).1 == [1])
    #expect(pump.rewind().done)
    _ = read(&pump)
    _ = pump.put([8], of: 0)
    _ = pump.put([], last: true, of: 0)
    _ = pump.fail(DispatchError(.cancelled), of: 0)
    #expect(read(&pump).0 == .wait)
    _ = pump.put([1, 2], of: 1)
    #expect(read(&pump).1 == [1, 2])
  }

  @Test("a declared length: the last byte is sent only with the end; one byte too many or too few is an error")
  func length() {
    var pump = BodyPump(length: 3, isReplayable: false)
    _ = read(&pump)
    _ = pump.put([1, 2, 3], of: 0)
    #expect(read(&pump).1 == [1, 2])
    #expect(read(&pump).0 == .wait)
    var long = pump
    #expect(long.put([4], of: 0).wakes != nil)
    #expect((long.failure as? RequestBodyError)?.code == .tooLong)
    #expect(read(&long).0 == .failed)
    #expect(pump.put([], last: true, of: 0).wakes != nil)
    #expect(read(&pump).1 == [3])
    #expect(read(&pump).0 == .end)

    var short = BodyPump(length: 3, isReplayable: false)
    _ = read(&short)
    _ = short.put([1, 2], of: 0)
    _ = short.put([], last: true, of: 0)
    #expect((short.failure as? RequestBodyError)?.code == .tooShort)
    #expect((short.failure as? RequestBodyError)?.found == 2)
    #expect(read(&short).0 == .failed)
  }

  @Test("a stop wakes the waiter, and nothing is sent after it")
  func stop() {
    var pump = BodyPump(length: nil, isReplayable: true)
    _ = read(&pump)
    #expect(pump.isWaiting)
    #expect(pump.stop().wakes != nil)
    #expect(read(&pump).0 == .failed)
    _ = pump.put([1], of: 0)
    #expect(pump.bytes == 0)
    #expect(!pump.rewind().done)
    #expect(pump.stop().wakes == nil)
  }

  @Test("random events: the output equals the input, within bounds, and no waiter is forgotten", arguments: 1...20)
  func random(seed: UInt64) {
    var exerciser = BodyPumpExerciser(seed: seed)
    #expect(exerciser.play(many / 20) == nil)
    #expect(exerciser.bodies > 10)
    #expect(exerciser.read > 100)
  }
}

/// Plays random events to a pump, and keeps a model of the expected results.
private struct BodyPumpExerciser {
  private static let lowWater = 16
  private static let mostInPiece = 12

  private var random: SeededRandom
  private var pump = BodyPump(length: nil, isReplayable: true, lowWater: lowWater)
  private(set) var bodies = 0
  private(set) var read = 0

  // The body numbers its bytes from 0. These are the next byte in and the next byte out.
  private var next: Int64 = 0
  private var taken: Int64 = 0
  private var isReplayable = true
  private var generation = 0
  private var isAsked = false
  private var hasEnded = false
  private var isOver = false
  private let waits = LockedBox(0)
  private let wakes = LockedBox(0)
  private var fault: String?

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    begin()
  }

  /// The first rule that was broken. Nil if none was.
  mutating func play(_ events: Int) -> String? {
    for event in 0..<events {
      step()
      check()
      if let fault { return "event \(event): \(fault)" }
    }
    return nil
  }

  private mutating func begin() {
    bodies += 1
    let length: Int64? = Bool.random(using: &random) ? Int64.random(in: 0...200, using: &random) : nil
    isReplayable = Bool.random(using: &random)
    pump = BodyPump(length: length, isReplayable: isReplayable, lowWater: Self.lowWater)
    (next, taken, generation, isAsked, hasEnded, isOver) = (0, 0, 0, false, false, false)
    waits.withLock { $0 = 0 }
    wakes.withLock { $0 = 0 }
  }

  private mutating func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<45: take()
    case 45..<85: bring()
    case 85..<88: finish()
    case 88: if !isOver { apply(pump.fail(DispatchError(.cancelled), of: old())) }
    case 89: if Int.random(in: 0..<4, using: &random) == 0 { stop() }
    case 90..<93: rewind()
    default: if isOver || hasEnded && pump.isTaken { begin() }
    }
  }

  // The current generation, or sometimes an earlier one.
  private mutating func old() -> Int {
    guard Int.random(in: 0..<10, using: &random) == 0 else {
      if isAsked { isOver = true }
      return generation
    }
    return generation - 1
  }

  private mutating func take() {
    let wasWaiting = pump.isWaiting
    var buffer = [UInt8](repeating: 0xFF, count: Int.random(in: 1...20, using: &random))
    let wakes = wakes
    let (outcome, effects) = buffer.withUnsafeMutableBytes { pump.read(into: $0) { wakes.withLock { $0 += 1 } } }
    switch outcome {
    case .bytes(let count):
      read += 1
      if count == 0 { fault = "nothing was read" }
      for index in 0..<count where buffer[index] != UInt8(truncatingIfNeeded: taken + Int64(index)) {
        fault = "byte \(taken + Int64(index)) is another"
      }
      taken += Int64(count)
      if let length = pump.length, taken == length, !hasEnded { fault = "the last byte went before the end" }
    case .end:
      if !hasEnded || taken != next { fault = "an end at \(taken) of \(next)" }
      if let length = pump.length, taken != length { fault = "an end at \(taken) of a declared \(length)" }
    case .wait: if !wasWaiting { waits.withLock { $0 += 1 } }
    case .failed: if !isOver { fault = "failed for nothing" }
    }
    apply(effects)
  }

  private mutating func bring() {
    let piece = (0..<Int64.random(in: 0...Int64(Self.mostInPiece), using: &random)).map { index in
      UInt8(truncatingIfNeeded: next + index)
    }
    let from = Int.random(in: 0..<10, using: &random) == 0 ? generation - 1 : generation
    let isTaken = from == generation && isAsked && !isOver
    let isLast = Int.random(in: 0..<30, using: &random) == 0
    if isTaken {
      next += Int64(piece.count)
      isAsked = false
      if let length = pump.length, next > length { isOver = true }
      if isLast, !isOver { end() }
    }
    apply(pump.put(piece, last: isLast, of: from))
  }

  private mutating func finish() {
    let from = Int.random(in: 0..<10, using: &random) == 0 ? generation - 1 : generation
    if from == generation, isAsked, !isOver {
      isAsked = false
      end()
    }
    apply(pump.put([], last: true, of: from))
  }

  private mutating func end() {
    if let length = pump.length, next < length { isOver = true } else { hasEnded = true }
  }

  private mutating func stop() {
    isOver = true
    apply(pump.stop())
  }

  private mutating func rewind() {
    let (done, effects) = pump.rewind()
    if done != (!isOver && (taken == 0 || isReplayable)) { fault = "a rewind that was \(done)" }
    if done, taken > 0 {
      (next, taken, isAsked, hasEnded) = (0, 0, false, false)
      generation += 1
      // The transport has ended its wait itself.
      waits.withLock { $0 = 0 }
      wakes.withLock { $0 = 0 }
    }
    apply(effects)
  }

  private mutating func apply(_ effects: BodyPump.Effects) {
    if let asked = effects.asks {
      if asked != generation { fault = "asked for generation \(asked)" }
      if isAsked { fault = "asked twice" }
      if hasEnded || isOver { fault = "asked after the end" }
      isAsked = true
    }
    effects.wakes?()
  }

  private mutating func check() {
    let (waited, woken) = (waits.withLock { $0 }, wakes.withLock { $0 })
    if woken > waited { fault = "woken \(woken) times for \(waited) waits" }
    if pump.isWaiting != (woken < waited) { fault = "it waits: \(pump.isWaiting), \(waited) waits, \(woken) woken" }
    if pump.isWaiting, !isAsked { fault = "it waits for nobody" }
    if pump.isWaiting, isOver || hasEnded { fault = "it waits though nothing comes" }
    if pump.bytes >= Self.lowWater + Self.mostInPiece { fault = "\(pump.bytes) bytes wait" }
    if !isOver, pump.bytes != Int(next - taken) { fault = "\(pump.bytes) bytes wait of \(next - taken)" }
    if pump.isAsked != isAsked, !isOver { fault = "asked: \(pump.isAsked)" }
  }
}
