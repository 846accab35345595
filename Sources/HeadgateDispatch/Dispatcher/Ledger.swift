import HeadgateThreads
import Synchronization

/// Counts what a dispatcher still owes: each operation until its caller was told, and the transport until it is closed.
///
/// What comes and what goes is counted apart, on a few pages, so that threads which submit at the same time don't pass
/// one count from processor to processor. The pages are added up only once the dispatcher closes. What has gone is
/// added up before what has come: if both sums are equal then, nothing was owed at the moment between the two, since
/// neither ever falls. (Two counts instead of one, as in F. Mattern,
/// "Algorithms for Distributed Termination Detection", 1987.)
final class Ledger: Sendable {
  static let pages = 8

  // What came and what went, each page in cache lines of its own.
  // The memory is this object's own from init to deinit, and all that is in it are atomics.
  nonisolated(unsafe) private let counts: UnsafeMutablePointer<Atomic<Int>>
  private static let stride = 16

  // Every end from here on looks whether it was the last. Set before the pages are added up, as each end is counted
  // before it is read: one of the two sees the other, since both orders are sequentially consistent.
  private let mustLook = Atomic<Bool>(false)
  private let closed = Atomic<Bool>(false)
  private let transportHasEnded = Atomic<Bool>(false)
  private let transportEnds = Locked<(@Sendable () -> Void)?>(nil)
  let settled = Drain()

  init() {
    counts = .allocate(capacity: Self.pages * Self.stride)
    for place in 0..<Self.pages * Self.stride { (counts + place).initialize(to: Atomic(0)) }
  }

  deinit {
    counts.deinitialize(count: Self.pages * Self.stride)
    counts.deallocate()
  }

  /// Operations whose callers were not told yet. Exact when it is zero; otherwise they may be fewer by now.
  private var owed: Int {
    var owed = 0
    for page in 0..<Self.pages { owed -= counts[page * Self.stride + 1].load(ordering: .sequentiallyConsistent) }
    for page in 0..<Self.pages { owed += counts[page * Self.stride].load(ordering: .sequentiallyConsistent) }
    return owed
  }

  /// Whether something else is owed beside the transport and what the caller's own operation is counted for.
  func hasOthers(beside own: Int) -> Bool { owed > own }

  /// One operation more. Whoever asks after this whether the ledger is closed, and hears that it is not, is owed before
  /// the pages are added up: both are sequentially consistent.
  func enter(_ page: Int) { counts[page * Self.stride].add(1, ordering: .sequentiallyConsistent) }

  /// The caller of an operation was told.
  func leave(_ page: Int) {
    counts[page * Self.stride + 1].add(1, ordering: .sequentiallyConsistent)
    if mustLook.load(ordering: .sequentiallyConsistent) { look() }
  }

  /// Makes it decide when the transport closes: for a dispatcher whose gate goes on without it.
  func countsAlone(_ end: @escaping @Sendable () -> Void) { transportEnds.withLock { $0 = end } }

  /// The transport has closed.
  func transportEnded() {
    transportHasEnded.store(true, ordering: .sequentiallyConsistent)
    mustLook.store(true, ordering: .sequentiallyConsistent)
    look()
  }

  var isClosed: Bool { closed.load(ordering: .sequentiallyConsistent) }

  /// No more is taken. Once all operations have ended the transport is closed.
  func close() {
    closed.store(true, ordering: .sequentiallyConsistent)
    mustLook.store(true, ordering: .sequentiallyConsistent)
    look()
  }

  /// Does what is to be done when nothing is owed: closes the transport, or tells that it has closed. A dispatcher that
  /// owns its gate has the transport closed by that instead. Several may find the end at once, and one acts on it.
  private func look() {
    guard owed == 0 else { return }
    if let end = transportEnds.withLock({ $0.take() }) { return end() }
    if transportHasEnded.load(ordering: .sequentiallyConsistent) { settled.finish() }
  }
}
