/// The account of the bodies that are gathered in memory, and which of them must pause: the pure half of a `BodyBudget`.
///
/// Above the limit only the eldest body goes on. It is never paused, so one always comes to its end and makes room: what
/// the others hold can't keep all of them from theirs.
struct BodyLedger {
  /// What a body is reckoned to bring before it pauses again: as many go on at once as there is room for that.
  static let piece = 256 * 1024

  private struct Body {
    let number: Int
    var bytes = 0
    var isPaused = false
  }

  let limit: Int
  /// What all of them have.
  private(set) var bytes = 0
  // By age: the eldest first, and so by number.
  private var bodies: [Body] = []
  private var last = 0

  /// An account that is full at so many bytes.
  init(limit: Int) { self.limit = limit }

  /// A body comes, the youngest of all. Returns its number.
  mutating func enter() -> Int {
    last += 1
    bodies.append(Body(number: last))
    return last
  }

  /// A body has so many bytes more. Returns whether it must pause. O(log n).
  mutating func add(_ count: Int, to number: Int) -> Bool {
    guard let place = place(of: number) else { return false }
    bodies[place].bytes += count
    bytes += count
    if place > 0, bytes > limit { bodies[place].isPaused = true }
    return bodies[place].isPaused
  }

  /// Whether a body is to hold still.
  func isPaused(_ number: Int) -> Bool { place(of: number).map { bodies[$0].isPaused } ?? false }

  /// A body has ended, and its bytes are no longer the dispatcher's. Returns those that go on now. O(n).
  mutating func leave(_ number: Int) -> [Int] {
    guard let place = place(of: number) else { return [] }
    bytes -= bodies.remove(at: place).bytes
    var going: [Int] = []
    // The eldest whatever room there is.
    var room = max(bodies.first?.isPaused == true ? 1 : 0, (limit - bytes) / Self.piece)
    for place in bodies.indices where room > 0 && bodies[place].isPaused {
      bodies[place].isPaused = false
      going.append(bodies[place].number)
      room -= 1
    }
    return going
  }

  private func place(of number: Int) -> Int? {
    var (low, high) = (0, bodies.count)
    while low < high {
      let middle = (low + high) / 2
      if bodies[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < bodies.count && bodies[low].number == number ? low : nil
  }
}

extension BodyLedger {
  /// Which rule is broken, for tests.
  var brokenInvariant: String? {
    if bytes != bodies.reduce(0, { $0 + $1.bytes }) { return "the sum is wrong" }
    if bodies.first?.isPaused == true { return "the eldest is paused" }
    if zip(bodies, bodies.dropFirst()).contains(where: { $0.number >= $1.number }) { return "the order is wrong" }
    return nil
  }
}
