/// The account of the bodies that are gathered in memory, and which of them must pause: the pure half of a `BodyBudget`.
///
/// Above the limit only the eldest body goes on. It is never paused, so one always comes to its end and makes room: what
/// the others hold can't keep all of them from theirs. A long request may last for ever, so beside it the eldest short one
/// goes on too.
struct BodyLedger {
  /// What a body is reckoned to bring before it pauses again: as many go on at once as there is room for that.
  static let piece = 256 * 1024

  private struct Body {
    let number: Int
    let isLong: Bool
    var bytes = 0
    var isPaused = false
  }

  let limit: Int
  /// What all of them have.
  private(set) var bytes = 0
  // By age: the eldest first, and so by number.
  private var bodies: [Body] = []
  private var last = 0

  /// An account that is full at so many bytes; less than 0 is taken for 0.
  init(limit: Int) { self.limit = max(0, limit) }

  /// A body comes, the youngest of all. Returns its number.
  mutating func enter(isLong: Bool = false) -> Int {
    last += 1
    bodies.append(Body(number: last, isLong: isLong))
    return last
  }

  /// The two that are never paused: the eldest, and the eldest short one. O(long ones before that).
  private var privileged: [Int] { [bodies.isEmpty ? nil : 0, bodies.firstIndex { !$0.isLong }].compactMap { $0 } }

  /// A body has so many bytes more. Returns whether it must pause.
  mutating func add(_ count: Int, to number: Int) -> Bool {
    guard let place = place(of: number) else { return false }
    bodies[place].bytes += count
    bytes += count
    if bytes > limit, !privileged.contains(place) { bodies[place].isPaused = true }
    return bodies[place].isPaused
  }

  /// Whether a body is to hold still.
  func isPaused(_ number: Int) -> Bool { place(of: number).map { bodies[$0].isPaused } ?? false }

  /// A body has ended, and its bytes are no longer the dispatcher's. Returns those that go on now. O(n).
  mutating func leave(_ number: Int) -> [Int] {
    guard let place = place(of: number) else { return [] }
    bytes -= bodies.remove(at: place).bytes
    var going: [Int] = []
    var room = (limit - bytes) / Self.piece
    let privileged = privileged
    for place in bodies.indices where bodies[place].isPaused && (room > 0 || privileged.contains(place)) {
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
    if privileged.contains(where: { bodies[$0].isPaused }) { return "the eldest, or the eldest short one, is paused" }
    if zip(bodies, bodies.dropFirst()).contains(where: { $0.number >= $1.number }) { return "the order is wrong" }
    return nil
  }
}
