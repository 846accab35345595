import HeadgateThreads

/// Counts the bodies in memory and decides which of them pause. The pure half of ``BodyBudget``. An event takes
/// O(log n), and O(1) if it neither adds, pauses nor resumes a body.
///
/// Above the limit only the oldest body continues. It is never paused, so it always completes and frees its memory:
/// the paused bodies cannot deadlock. A long request may never end, so the oldest short request also continues. A body
/// that is kept for interceptors stays until they have reviewed it, which may depend on another body. So the oldest one
/// of each sort continues: those to be collected do not wait for reviews.
struct BodyLedger<Owner: Hashable> {
  /// The estimate of what a resumed body adds before it pauses again. As many bodies resume as there is room for.
  static var piece: Int { 256 * 1024 }

  /// What a body is for.
  enum Sort {
    /// The response of a short request.
    case short
    /// That of a request that may never end.
    case long
    /// It is withheld for interceptors.
    case kept
  }

  private struct Body {
    // In the order of arrival.
    let number: Int
    var sort: Sort
    var bytes = 0
  }

  let limit: Int
  /// The bytes of all bodies.
  private(set) var bytes = 0
  private var bodies: [Owner: Body] = [:]
  private var owners: [Int: Owner] = [:]
  private var lastNumber = 0
  // By number: all but the kept ones, the short ones among them, the kept ones, and those of all sorts that are paused.
  private var collected = OrderedNumbers()
  private var short = OrderedNumbers()
  private var kept = OrderedNumbers()
  private var paused = OrderedNumbers()

  /// Creates a ledger with a limit in bytes. A negative limit counts as 0.
  init(limit: Int) { self.limit = max(0, limit) }

  // The bodies that are never paused.
  private var privileged: [Int] { [collected.least, short.least, kept.least].compactMap { $0 } }

  /// Notes the size of a body, which is new if its owner has none. Returns whether it must pause.
  mutating func note(_ size: Int, of owner: Owner, as sort: Sort = .short) -> Bool {
    let number = bodies[owner]?.number ?? enter(owner, sort)
    bytes += size - (bodies[owner]?.bytes ?? 0)
    bodies[owner]?.bytes = size
    if bytes > limit, !privileged.contains(number) { paused.insert(number) }
    return paused.contains(number)
  }

  private mutating func enter(_ owner: Owner, _ sort: Sort) -> Int {
    lastNumber += 1
    bodies[owner] = Body(number: lastNumber, sort: sort)
    owners[lastNumber] = owner
    if sort == .kept { kept.insert(lastNumber) } else { collected.insert(lastNumber) }
    if sort == .short { short.insert(lastNumber) }
    return lastNumber
  }

  /// Whether an owner's body is paused.
  func isPaused(_ owner: Owner) -> Bool { bodies[owner].map { paused.contains($0.number) } ?? false }

  /// Removes a body; its bytes belong to the caller from then on. Returns the owners of the bodies that resume, with
  /// O(log n) for each.
  mutating func leave(_ owner: Owner) -> [Owner] {
    guard let body = bodies.removeValue(forKey: owner) else { return [] }
    bytes -= body.bytes
    owners[body.number] = nil
    collected.remove(body.number)
    short.remove(body.number)
    kept.remove(body.number)
    paused.remove(body.number)
    return resume()
  }

  /// Notes that the request of a body may never end. Returns the owners of the bodies that resume.
  mutating func becameLong(_ owner: Owner) -> [Owner] {
    guard let body = bodies[owner], body.sort == .short else { return [] }
    bodies[owner]?.sort = .long
    short.remove(body.number)
    return resume()
  }

  /// Resumes the oldest bodies that there is room for, and the privileged ones in any case.
  private mutating func resume() -> [Owner] {
    var going: [Int] = []
    var room = (limit - bytes) / Self.piece
    while room > 0, let number = paused.least {
      paused.remove(number)
      going.append(number)
      room -= 1
    }
    for number in privileged where paused.remove(number) { going.append(number) }
    return going.compactMap { owners[$0] }
  }
}
