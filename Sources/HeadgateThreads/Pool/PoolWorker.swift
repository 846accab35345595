import Synchronization

/// One thread of a pool: where it sleeps, and the tasks that it took at once.
///
/// A worker takes several tasks under one hold of the pool's lock and then claims them one by one from `next`. Whoever
/// else holds that lock may claim from there too: what waits behind a long task is not stuck with it.
// Unchecked: `tail`, `level`, `refilled` and the contents of `batch` change only under the lock of the pool's core; the
// worker reads an entry only after claiming it through `next`, and nobody claims it again; what stands below "the worker's
// own" is touched by its thread alone.
final class PoolWorker: @unchecked Sendable {
  /// The most tasks that a worker takes at once.
  static let mostAtOnce = 32

  let place: Int
  let parker = Parker()
  /// The tasks whose bodies have come to an end here. Written by the worker only.
  let completed = AtomicCell<Int>(0)
  /// The next entry of the batch that nobody has claimed.
  let next = AtomicCell<Int>(0)

  let batch: UnsafeMutablePointer<PoolEntry>
  var tail = 0
  var level = 0
  var refilled = Deadline.distantPast

  // The worker's own.
  var record: ThreadRecord
  var atOnce = 1
  var passed = 0
  var hasWorked = false
  var isFinishing = false
  var seen = 0
  var watchPeriod = PoolWorker.shortestWatch
  // How many times in a row work came to it while it lingered, and at how many it tries whether this is a stream.
  var streak = 0
  var trial = 4
  var streams = false
  var tries = false
  var idleUntil = Deadline.distantFuture

  static let shortestWatch: Int64 = 100_000
  static let longestWatch: Int64 = 400_000

  init(place: Int) {
    self.place = place
    record = ThreadRecord()
    batch = .allocate(capacity: PoolWorker.mostAtOnce)
  }

  deinit { batch.deallocate() }

  /// Claims an entry. By the worker itself, with or without the lock.
  func claim() -> PoolEntry? {
    let index = next.wrappingAdd(1, ordering: .acquiring).oldValue
    guard index < tail else { return nil }
    return batch.advanced(by: index).move()
  }

  /// One more body has come to its end. By the worker itself.
  func countCompleted() { completed.store(completed.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  /// How many are left to be claimed. Exact under the lock, but for claims that the worker makes meanwhile.
  var unclaimed: Int { max(0, tail - next.load(ordering: .relaxed)) }

  /// Whether the worker will look into the pool's queue before it runs anything else.
  var isEmptyHanded: Bool { next.load(ordering: .relaxed) >= tail }

  /// Takes a share of what is left away from the worker, the oldest first, and hands it to `take`. Under the lock.
  func release(share: (Int) -> Int) -> Range<Int> {
    var start = next.load(ordering: .relaxed)
    while start < tail {
      let end = start + share(tail - start)
      let (done, found) = next.compareExchange(
        expected: start, desired: end, ordering: .acquiringAndReleasing)
      if done { return start..<end }
      start = found
    }
    return 0..<0
  }
}
