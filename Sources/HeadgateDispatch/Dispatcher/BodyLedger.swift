/// Counts the bodies collected in memory and decides which of them pause. The pure half of ``BodyBudget``.
///
/// Above the limit only the oldest body continues. It is never paused, so it always completes and frees its memory:
/// the paused bodies cannot deadlock. A long request may never end, so the oldest short request also continues.
struct BodyLedger {
  /// The estimate of what a resumed body adds before it pauses again. As many bodies resume as there is room for.
  static let piece = 256 * 1024

  private struct Body {
    let number: Int
    let isLong: Bool
    var bytes = 0
    var isPaused = false
  }

  let limit: Int
  /// The bytes of all bodies.
  private(set) var bytes = 0
  // Oldest first, and therefore sorted by number.
  private var bodies: [Body] = []
  private var last = 0

  /// Creates a ledger with a limit in bytes. A negative limit counts as 0.
  init(limit: Int) { self.limit = max(0, limit) }

  /// Adds the newest body. Returns its number.
  mutating func enter(isLong: Bool = false) -> Int {
    last += 1
    bodies.append(Body(number: last, isLong: isLong))
    return last
  }

  /// The bodies that are never paused: the oldest, and the oldest short one. O(number of long bodies before it).
  private var privileged: [Int] { [bodies.isEmpty ? nil : 0, bodies.firstIndex { !$0.isLong }].compactMap { $0 } }

  /// Adds `count` bytes to a body. Returns whether it must pause. O(n).
  mutating func add(_ count: Int, to number: Int) -> Bool {
    guard let place = place(of: number) else { return false }
    bodies[place].bytes += count
    bytes += count
    if bytes > limit, !privileged.contains(place) { bodies[place].isPaused = true }
    return bodies[place].isPaused
  }

  /// Whether a body is paused.
  func isPaused(_ number: Int) -> Bool { place(of: number).map { bodies[$0].isPaused } ?? false }

  /// Removes a body that has ended; its bytes belong to the caller from then on. Returns the bodies that resume. O(n).
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

  private func place(of number: Int) -> Int? { bodies.firstIndex { $0.number == number } }
}

extension BodyLedger {
  /// The invariant that is broken, if any. For tests.
  var brokenInvariant: String? {
    if bytes != bodies.reduce(0, { $0 + $1.bytes }) { return "the sum does not match the bodies" }
    if privileged.contains(where: { bodies[$0].isPaused }) { return "a privileged body is paused" }
    if zip(bodies, bodies.dropFirst()).contains(where: { $0.number >= $1.number }) { return "out of order" }
    return nil
  }
}
