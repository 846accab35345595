/// An event that a thread may wait for and that another thread has to bring about: a thread's end, a call on a loop, a
/// task of a pool.
protocol WaitTarget: AnyObject, Sendable {
  /// The thread that has to bring it about; nil while that is undecided, and once it is over. Read under the graph's
  /// lock, so it must not take a lock itself.
  var performer: ThreadRecord.ID? { get }

  /// A readable text: `loop "ui"`.
  var waitName: String { get }
}

/// The wait-for graph. A wait that would close a cycle could never end, so it is refused.
///
/// A blocked thread waits for one target or for any of several, and at most one thread performs each target: the "OR
/// model" of E. Knapp, "Deadlock Detection in Distributed Databases" (1987). A wait can never end if every path from it
/// leads only to waiting threads, through threads, loops and pools alike, and none to a running thread. A target
/// without a performer also counts as a way out: the thread that takes it on will enter the graph itself before it
/// blocks.
struct WaitGraph: Sendable {
  struct Wait: Sendable {
    let thread: ThreadRecord
    /// Any of them ends the wait. Never empty.
    let targets: [any WaitTarget]
    let since: Deadline
    /// Whether the wait can be part of a cycle that is refused. One with a deadline cannot: it ends by itself, and
    /// polling for an end with short waits is legitimate.
    let counts: Bool
    /// Whether a cancellation of the thread ends the wait.
    var isCancellable = true

    /// A cancelled thread's wait is about to end, so the thread that cancelled it may wait for it.
    var isEndless: Bool { counts && !(isCancellable && thread.isCancelled) }

    /// A readable text: what it waits for.
    var name: String {
      let name = targets.first?.waitName ?? "nothing"
      return targets.count > 1 ? "\(name) or \(targets.count - 1) more" : name
    }
  }

  private var waits: [ThreadRecord.ID: Wait] = [:]

  /// All waits, in no particular order.
  var all: [Wait] { Array(waits.values) }

  /// Records a wait. If it could never end, it is not recorded, and the targets along the cycle are returned, starting
  /// with the wait's own target.
  mutating func begin(_ wait: Wait) -> [any WaitTarget]? {
    if let cycle = cycle(closedBy: wait) { return cycle }
    waits[wait.thread.id] = wait
    return nil
  }

  /// The shortest cycle through a wait from which no path leads out. O(n) in the waits reached.
  private func cycle(closedBy wait: Wait) -> [any WaitTarget]? {
    var cycle: [any WaitTarget]?
    // Visits each thread once, so the search ends even if performers change meanwhile.
    var seen: Set = [wait.thread.id]
    var line: [(wait: Wait, chain: [any WaitTarget])] = [(wait, [])]
    var place = 0
    while place < line.count {
      let (next, chain) = line[place]
      place += 1
      guard next.isEndless else { return nil }
      for target in next.targets {
        guard let performer = target.performer else { return nil }
        if performer == wait.thread.id {
          cycle = cycle ?? chain + [target]
        } else {
          guard let following = waits[performer] else { return nil }
          if seen.insert(performer).inserted { line.append((following, chain + [target])) }
        }
      }
    }
    return cycle
  }

  /// Removes a thread's wait.
  mutating func end(of thread: ThreadRecord.ID) -> Wait? { waits.removeValue(forKey: thread) }

  /// The cycles among the recorded waits, each in order, starting at any of its waits. Only waits with deadlines, and
  /// briefly waits of cancelled threads, form them. A wait for any of several targets is not followed.
  var cycles: [[Wait]] {
    var seen: Set<ThreadRecord.ID> = []
    return waits.values.compactMap { first in
      var path: [Wait] = []
      var next: Wait? = first
      while let wait = next, seen.insert(wait.thread.id).inserted {
        path.append(wait)
        next = wait.targets.count == 1 ? wait.targets[0].performer.flatMap { waits[$0] } : nil
      }
      // The search has come back to this path, and not to one visited before.
      guard let next, let start = path.firstIndex(where: { $0.thread === next.thread }) else { return nil }
      return Array(path[start...])
    }
  }
}

// The process-wide graph. Only threads that are about to block use it, so one lock is enough.
extension WaitGraph {
  private static let shared = Locked(WaitGraph())

  /// A copy of the current waits.
  static var current: WaitGraph { shared.withLock { $0 } }

  /// Records that the calling thread blocks until one of `targets` is done, or returns a description of the cycle that
  /// this would close: `thread "a" waits for loop "b", which waits for the end of thread "a"`. Call ``leave()`` after
  /// the wait, unless it was refused.
  static func enter(_ targets: [any WaitTarget], counts: Bool = true, isCancellable: Bool = true) -> String? {
    let wait = Wait(thread: .current, targets: targets, since: .now, counts: counts, isCancellable: isCancellable)
    // Described without the lock: a name may take one.
    return shared.withLock { $0.begin(wait) }.map { describe(wait.thread, $0) }
  }

  /// Removes the calling thread's wait.
  static func leave() {
    // Removed under the lock, released after it.
    let wait = shared.withLock { $0.end(of: ThreadRecord.current.id) }
    _ = consume wait
  }

  static func describe(_ thread: ThreadRecord, _ targets: [any WaitTarget]) -> String {
    "\(thread.title) waits for " + targets.map(\.waitName).joined(separator: ", which waits for ")
  }
}
