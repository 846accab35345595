// Permits out of the scheduler's hands, so that end-points where there is nothing to decide don't share a lock.
// The idea is the sloppy counter's: S. Boyd-Wickizer et al., "An Analysis of Linux Scalability to Many Cores" (OSDI 2010).
//
// Where nobody waits and the total has room for all that an end-point tolerates, every request for it starts at once. So
// the scheduler lends its permits, all of them counted as used, and a loan gives them out and takes them back. As soon
// as there is something to decide, the scheduler calls the loan in and goes on with those that run there as if it had
// started them itself; see Scheduler+Loans.swift.
//
// Rejected: a scheduler for each end-point, the total apart. Turns at the total, the bound on what waits and the end of a
// gate concern all of them, and would be decided under all their locks.

/// The permits of one end-point on loan, and who runs on them. Like the scheduler, a value without lock or clock.
package struct Loan<Item: Sendable>: Sendable {
  private enum Stand: Sendable {
    case free
    case running
    // It was asked to end.
    case ending
    // The loan was called in while it ran, and the scheduler knows it by a ticket of its own.
    case calledIn(Ticket)
  }

  private struct Borrower: Sendable {
    var item: Item?
    var age: UInt64 = 0
    var generation: UInt32
    // The list of those that run here, the first to come first, or of free places.
    var next: Int32 = -1
    var previous: Int32 = -1
    var stand = Stand.free
    var priority = RequestPriority.normal
  }

  /// One that ran when the loan was called in.
  struct Debt {
    let item: Item
    let age: UInt64
    let priority: RequestPriority
    let isEnding: Bool
    /// What it is called on, also once the scheduler has it.
    let name: Ticket
  }

  /// What became of a ticket that is given back or asked about.
  package enum Answer: Sendable {
    /// It was here. Its item comes back, to be let go of outside the lock, if it is finished.
    case here(Item?)
    /// The scheduler has it, under this ticket.
    case elsewhere(Ticket)
    /// It was given back, or asked to end, before.
    case gone
  }

  /// Whose permits they are; nil while nothing is on loan.
  private(set) var endPoint: EndPoint?
  /// How many may run, and over how many sockets.
  private(set) var permits = 0
  private(set) var sockets = 0
  /// Whether they are as many as they are because its sockets carry several requests at once.
  private(set) var multiplexes = false
  package private(set) var running = 0
  /// The most that ran at once.
  private(set) var peak = 0
  /// Something came since somebody looked last.
  private(set) var wasUsed = false
  private let number: Int
  private var borrowers: [Borrower] = []
  private var firstFree: Int32 = -1
  private var firstRunning: Int32 = -1
  private var lastRunning: Int32 = -1
  /// Names in use: of those that run here, and of those that were called in and have not ended.
  private(set) var names = 0
  // What the generation of a new place starts with: above every generation that a place given back has had.
  private var firstGeneration: UInt32 = 0
  // What other threads write stands in no cache line of this one.
  private let padding = CacheLines()

  /// A loan of nothing yet; its number is below `Ticket.loans`.
  init(number: Int) { self.number = number }

  /// Permits are lent from here on.
  mutating func begin(_ endPoint: EndPoint, permits: Int, sockets: Int, multiplexes: Bool) {
    (self.endPoint, self.permits, self.sockets, self.multiplexes) = (endPoint, permits, sockets, multiplexes)
    (peak, wasUsed) = (0, true)
  }

  /// A request comes and runs at once; nil if the permits are another end-point's, or if none is left. O(1).
  mutating func take(_ item: Item, for wanted: EndPoint, age: UInt64, _ priority: RequestPriority) -> Ticket? {
    guard running < permits, endPoint == wanted else { return nil }
    if firstFree < 0 {
      guard borrowers.count < Ticket.borrowers else { return nil }
      firstFree = Int32(borrowers.count)
      borrowers.append(Borrower(generation: firstGeneration))
    }
    let place = Int(firstFree)
    firstFree = borrowers[place].next
    borrowers[place].next = -1
    borrowers[place].previous = lastRunning
    if lastRunning >= 0 { borrowers[Int(lastRunning)].next = Int32(place) } else { firstRunning = Int32(place) }
    lastRunning = Int32(place)
    borrowers[place].item = item
    borrowers[place].age = age
    borrowers[place].priority = priority
    borrowers[place].stand = .running
    running += 1
    names += 1
    peak = max(peak, running)
    wasUsed = true
    return Ticket(loan: number, borrower: place, generation: borrowers[place].generation)
  }

  /// A request has ended, its exchange too. One that was called in leaves this place for good; `elsewhere` says where its
  /// permit is. O(1).
  mutating func finish(_ ticket: Ticket) -> Answer {
    guard let place = place(of: ticket) else { return .gone }
    if case .calledIn(let own) = borrowers[place].stand {
      free(place)
      return .elsewhere(own)
    }
    running -= 1
    let item = borrowers[place].item.take()
    let (next, previous) = (borrowers[place].next, borrowers[place].previous)
    if next >= 0 { borrowers[Int(next)].previous = previous } else { lastRunning = previous }
    if previous >= 0 { borrowers[Int(previous)].next = next } else { firstRunning = next }
    free(place)
    return .here(item)
  }

  /// A request was cancelled or is out of time: it keeps its permit until `finish`. O(1).
  mutating func withdraw(_ ticket: Ticket) -> Answer {
    guard let place = place(of: ticket) else { return .gone }
    switch borrowers[place].stand {
    case .calledIn(let own): return .elsewhere(own)
    case .ending, .free: return .gone
    case .running:
      borrowers[place].stand = .ending
      return .here(nil)
    }
  }

  /// A request becomes more or less urgent, which counts only if it has to wait again. O(1).
  mutating func setPriority(_ priority: RequestPriority, of ticket: Ticket) -> Answer {
    guard let place = place(of: ticket) else { return .gone }
    if case .calledIn(let own) = borrowers[place].stand { return .elsewhere(own) }
    borrowers[place].priority = priority
    return .here(nil)
  }

  /// By which ticket the scheduler knows a borrower; nil if it doesn't.
  func own(_ ticket: Ticket) -> Ticket? {
    guard let place = place(of: ticket), case .calledIn(let own) = borrowers[place].stand else { return nil }
    return own
  }

  /// Whether nothing came since the last call of this, and nothing runs.
  mutating func isIdle() -> Bool {
    defer { wasUsed = false }
    return running == 0 && !wasUsed
  }

  /// The scheduler knows a borrower that was called in no more.
  mutating func forget(_ ticket: Ticket) {
    if let place = place(of: ticket), case .calledIn = borrowers[place].stand { free(place) }
  }

  /// Nothing is on loan any more. `adopt` gets all who run, and gives each a ticket of the scheduler's. O(those who run).
  mutating func end(_ adopt: (Debt) -> Ticket) {
    while firstRunning >= 0 {
      let place = Int(firstRunning)
      firstRunning = borrowers[place].next
      let isEnding = if case .ending = borrowers[place].stand { true } else { false }
      guard let item = borrowers[place].item.take() else { continue }
      let debt = Debt(
        item: item, age: borrowers[place].age, priority: borrowers[place].priority, isEnding: isEnding,
        name: Ticket(loan: number, borrower: place, generation: borrowers[place].generation))
      borrowers[place].stand = .calledIn(adopt(debt))
    }
    (endPoint, permits, sockets, running, lastRunning) = (nil, 0, 0, 0, -1)
  }

  private func place(of ticket: Ticket) -> Int? {
    let place = ticket.borrower
    guard place < borrowers.count, borrowers[place].generation == ticket.generation else { return nil }
    return place
  }

  private mutating func free(_ place: Int) {
    borrowers[place].stand = .free
    borrowers[place].generation &+= 1
    borrowers[place].next = firstFree
    firstFree = Int32(place)
    names -= 1
    guard names == 0, borrowers.count > 256 else { return }
    // Many redirected ones had begun here. Generations go on, so that old names stay unknown.
    firstGeneration = borrowers.reduce(firstGeneration) { max($0, $1.generation) } &+ 1
    borrowers = []
    firstFree = -1
  }
}
