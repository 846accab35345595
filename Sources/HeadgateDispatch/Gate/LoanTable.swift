import HeadgateThreads
import Synchronization

/// A loan behind a lock of its own.
final class LoanCell<Item: Sendable>: Sendable {
  /// The hash of the end-point whose permits are lent here, for those who look for it: whether it is still so only the
  /// lock tells.
  let hash = Atomic<Int>(0)
  let number: Int
  // Read by whoever looks for a loan: what others write stands in no cache line of it.
  private let padding = CacheLines()
  let loan: Locked<Loan<Item>>

  init(number: Int) {
    self.number = number
    loan = Locked(Loan(number: number))
  }
}

/// Where an end-point's loan is found without any lock that all share. A loan has two places where it may be, by its
/// end-point's hash; a cell that was made stays until the table goes, for whoever is about to look into it.
///
/// What is lent where changes only under the gate's lock.
final class LoanTable<Item: Sendable>: Sendable {
  private typealias Place = Atomic<Unmanaged<LoanCell<Item>>?>

  private static var count: Int { Ticket.loans }

  // The places' memory is this object's own from init to deinit, and all that is in it are atomics.
  nonisolated(unsafe) private let places: UnsafeMutablePointer<Place>

  init() {
    places = .allocate(capacity: Self.count)
    for number in 0..<Self.count { (places + number).initialize(to: Atomic(nil)) }
  }

  deinit {
    for number in 0..<Self.count { places[number].load(ordering: .acquiring)?.release() }
    places.deinitialize(count: Self.count)
    places.deallocate()
  }

  /// The cell of that number, if it was made.
  @inline(__always)
  subscript(number: Int) -> Unmanaged<LoanCell<Item>>? { places[number].load(ordering: .acquiring) }

  /// Where the end-point's permits are lent, as far as can be told without a lock.
  @inline(__always)
  func find(_ endPoint: EndPoint) -> Unmanaged<LoanCell<Item>>? {
    let hash = endPoint.storedHash
    let number = Self.number(hash)
    if let cell = self[number], cell._withUnsafeGuaranteedRef({ $0.hash.load(ordering: .relaxed) }) == hash {
      return cell
    }
    if let cell = self[number ^ 1], cell._withUnsafeGuaranteedRef({ $0.hash.load(ordering: .relaxed) }) == hash {
      return cell
    }
    return nil
  }

  /// The two cells where the end-point's permits may be lent, made if need be. Only under the gate's lock.
  func cells(for endPoint: EndPoint) -> (LoanCell<Item>, LoanCell<Item>) {
    let number = Self.number(endPoint.storedHash)
    return (cell(number), cell(number ^ 1))
  }

  private func cell(_ number: Int) -> LoanCell<Item> {
    if let cell = self[number] { return cell.takeUnretainedValue() }
    let cell = LoanCell<Item>(number: number)
    places[number].store(Unmanaged.passRetained(cell), ordering: .releasing)
    return cell
  }

  /// All that were made.
  var all: some Sequence<LoanCell<Item>> {
    (0..<Self.count).lazy.compactMap { self[$0]?.takeUnretainedValue() }
  }

  private static func number(_ hash: Int) -> Int { hash & (count - 1) }
}
