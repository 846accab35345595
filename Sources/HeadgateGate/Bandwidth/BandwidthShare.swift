// Divides a bandwidth among transfers. What has moved is paid for by virtual scheduling (the GCRA of ITU-T I.371);
// turns are given by start-time fair queueing (P. Goyal, H. M. Vin, H. Cheng, "Start-time fair queueing", SIGCOMM
// 1996).

import HeadgateThreads

/// The pure half of a bandwidth limit.
///
/// A transport can't tell how much will arrive, so bytes are paid for after they have moved. While more has moved than
/// the bandwidth allows, transfers wait in a line. Turns come in the order of what each has moved while others waited,
/// so transfers with much to move get equal parts, and a slow one loses nothing to them.
struct BandwidthShare {
  /// How much of an idle time may be made up for, in nanoseconds. This much at full speed comes on top of the limit.
  static let burst: Int64 = 16_000_000
  /// Turns are given in rounds that begin at multiples of this time, in nanoseconds: each round costs a timer.
  static let round: UInt64 = 4_000_000
  /// What a new transfer is expected to move first: what transports usually read at once.
  static let piece = 16 * 1024
  /// How far a transfer may have fallen behind the others and make up for it. A few pieces: those that move large ones
  /// are that far ahead.
  private static let slack: Int64 = 128 * 1024

  /// What one transfer has moved, as the virtual time at which all of it is served.
  struct Account {
    fileprivate(set) var finish: Int64
    /// The size of its last piece, taken as that of its next.
    fileprivate(set) var piece = BandwidthShare.piece
  }

  private struct Place: Comparable {
    let start: Int64
    /// The transfer's number. The older of two goes first.
    let number: Int
    let expected: Int

    static func < (left: Place, right: Place) -> Bool { (left.start, left.number) < (right.start, right.number) }
  }

  typealias Handle = IndexedHeap<Int>.Handle

  /// Bytes per second, at least 1. Nil once the limit has been removed; then no transfer waits.
  private(set) var rate: Int?
  /// The number of transfers.
  private(set) var users = 0
  // When what has moved will be paid for.
  private var paid = Deadline.distantPast
  // The virtual time: the start of the last turn.
  private var virtual: Int64 = 0
  private var line = IndexedHeap<Place>()

  init(rate: Int) { self.rate = rate }

  /// The number of transfers that wait.
  var waiting: Int { line.count }

  /// Whether what has moved is not paid for yet.
  func isOwing(at now: Deadline) -> Bool { paid > now }

  /// When the next turns are given. Nil if no transfer waits.
  func wakeAt(after now: Deadline) -> Deadline? {
    guard !line.isEmpty else { return nil }
    let earliest = max(paid, now.advanced(byNanoseconds: 1)).nanoseconds
    return Deadline(nanoseconds: earliest).advanced(
      byNanoseconds: Int64((Self.round - earliest % Self.round) % Self.round))
  }

  /// Changes the rate. What is unpaid is paid for at the new one.
  mutating func setRate(_ new: Int?, at now: Deadline) {
    guard new != rate else { return }
    if let new, let rate, paid > now {
      let left = Double(paid.nanoseconds(since: now)) * Double(rate) / Double(new)
      paid = now.advanced(byNanoseconds: Int64(min(left, Self.longest)))
    } else if new == nil {
      paid = .distantPast
    }
    rate = new
  }

  /// A transfer begins, one piece behind the last turn: otherwise new transfers would always come before the others.
  mutating func enter() -> Account {
    users += 1
    return Account(finish: virtual &+ Int64(Self.piece))
  }

  /// A transfer is over. O(log n) if it waits.
  mutating func leave(_ handle: Handle?) {
    users -= 1
    if let handle { line.remove(handle) }
  }

  /// Counts bytes that a transfer has moved. Never refused: they are there.
  mutating func moved(_ count: Int, by account: inout Account, at now: Deadline) {
    account.finish = start(of: account) &+ Int64(count)
    account.piece = count
    paid = max(paid, now.advanced(byNanoseconds: -Self.burst)).advanced(byNanoseconds: cost(of: count))
    // If no transfer waits, the virtual time follows this one. If it stayed behind, this one would have to wait later
    // until new transfers had moved as much.
    if line.isEmpty, paid <= now { virtual = max(virtual, account.finish) }
  }

  /// Whether a transfer must wait before it moves more: if it would have to be paid for later, or if others come first.
  func mustWait(_ account: Account, at now: Deadline) -> Bool {
    guard paid <= now else { return true }
    return line.min.map { $0.key.start < start(of: account) } ?? false
  }

  /// Puts a transfer into the line. O(log n).
  ///
  /// - Parameter most: The most bytes that it can move next.
  mutating func wait(_ number: Int, _ account: Account, atMost most: Int = .max) -> Handle {
    line.insert(Place(start: start(of: account), number: number, expected: min(account.piece, most)))
  }

  /// The number of the next transfer, if more may move now. Asked for when one joins the line, or ends: after its turn
  /// it may have moved less than was expected.
  mutating func turn(at now: Deadline) -> Int? {
    guard paid <= now, let first = line.min else { return nil }
    line.remove(first.handle)
    virtual = max(virtual, first.key.start)
    return first.key.number
  }

  /// The numbers of the transfers whose turn has come, in order: as many as are expected to use up what may move now.
  mutating func turns(at now: Deadline) -> [Int] {
    var turns: [Int] = []
    var used = max(paid, now.advanced(byNanoseconds: -Self.burst))
    while used <= now, let first = line.min {
      line.remove(first.handle)
      if turns.isEmpty { virtual = max(virtual, first.key.start) }
      used = used.advanced(byNanoseconds: cost(of: first.key.expected))
      turns.append(first.key.number)
    }
    return turns
  }

  private func start(of account: Account) -> Int64 { max(account.finish, virtual - Self.slack) }

  // Later than the end of any transfer, and far from the end of the clock: three years.
  private static let longest = 1e17

  /// The nanoseconds for which a number of bytes takes the whole bandwidth.
  private func cost(of count: Int) -> Int64 {
    rate.map { Int64(min(Double(count) / Double($0) * 1e9, Self.longest)) } ?? 0
  }
}
