/// Counts the bodies collected in memory and decides which of them pause. The pure half of ``BodyBudget``.
///
/// Above the limit only the oldest body continues. It is never paused, so it always completes and frees its memory:
/// the paused bodies cannot deadlock. A long request may never end, so the oldest short request also continues.
struct BodyLedger<Owner: Equatable> {
  /// The estimate of what a resumed body adds before it pauses again. As many bodies resume as there is room for.
  static var piece: Int { 256 * 1024 }

  private struct Body {
    let owner: Owner
    var isLong: Bool
    var bytes = 0
    var isPaused = false
  }

  let limit: Int
  /// The bytes of all bodies.
  private(set) var bytes = 0
  // Oldest first.
  private var bodies: [Body] = []

  /// Creates a ledger with a limit in bytes. A negative limit counts as 0.
  init(limit: Int) { self.limit = max(0, limit) }

  /// The bodies that are never paused: the oldest, and the oldest short one. O(number of long bodies before it).
  private var privileged: [Int] { [bodies.isEmpty ? nil : 0, bodies.firstIndex { !$0.isLong }].compactMap { $0 } }

  /// Notes the size of a body, which is new if its owner has none. Returns whether it must pause. O(n).
  mutating func note(_ size: Int, of owner: Owner, isLong: Bool = false) -> Bool {
    let place = place(of: owner) ?? bodies.endIndex
    if place == bodies.endIndex { bodies.append(Body(owner: owner, isLong: isLong)) }
    bytes += size - bodies[place].bytes
    bodies[place].bytes = size
    if bytes > limit, !privileged.contains(place) { bodies[place].isPaused = true }
    return bodies[place].isPaused
  }

  /// Whether an owner's body is paused.
  func isPaused(_ owner: Owner) -> Bool { place(of: owner).map { bodies[$0].isPaused } ?? false }

  /// Removes a body; its bytes belong to the caller from then on. Returns the owners of the bodies that resume. O(n).
  mutating func leave(_ owner: Owner) -> [Owner] {
    guard let place = place(of: owner) else { return [] }
    bytes -= bodies.remove(at: place).bytes
    return resume()
  }

  /// Notes that the request of a body may never end. Returns the owners of the bodies that resume. O(n).
  mutating func becameLong(_ owner: Owner) -> [Owner] {
    guard let place = place(of: owner) else { return [] }
    bodies[place].isLong = true
    return resume()
  }

  private mutating func resume() -> [Owner] {
    var going: [Owner] = []
    var room = (limit - bytes) / Self.piece
    let privileged = privileged
    for place in bodies.indices where bodies[place].isPaused && (room > 0 || privileged.contains(place)) {
      bodies[place].isPaused = false
      going.append(bodies[place].owner)
      room -= 1
    }
    return going
  }

  private func place(of owner: Owner) -> Int? { bodies.firstIndex { $0.owner == owner } }
}
