import Synchronization

/// A queue at some moment, for dumps.
struct QueueSummary: Sendable {
  var kind = "queue"
  let name: String
  /// `Int.max` for an unbounded queue.
  let capacity: Int
  let count: Int
  let waiting: (takers: Int, putters: Int)
  let isClosed: Bool
}

/// The queues at which a call has had to wait, for dumps.
///
/// A queue is added at its first such call. So calls that need not wait cost nothing, and each later wait costs one
/// load.
enum QueueRegistry {
  enum Entry: Sendable {
    // Read under the registry's lock: their memory is not freed before the queue has left the registry.
    case core(QueueCore)
    case rendezvous(Rendezvous)
    /// Refers to its queue weakly. Read without the lock: if a dump releases the last reference, the queue leaves the
    /// registry. The weak reference makes retains slower, which does not matter beside the heap.
    case ordered(@Sendable () -> QueueSummary?)
  }

  static let entries = Locked<[UInt: Entry]>([:])

  /// Adds a queue. Called without a lock, before the caller joins the queue's line.
  ///
  /// - Parameters:
  ///   - key: An address in the queue's memory.
  ///   - isListed: Whether it was added before.
  ///   - entry: How it is read.
  static func add(_ key: UInt, _ isListed: borrowing Atomic<Bool>, _ entry: @autoclosure () -> Entry) {
    #if !HEADGATE_EXPLORE
    guard !isListed.load(ordering: .relaxed), !isListed.exchange(true, ordering: .relaxed) else { return }
    let entry = entry()
    entries.withLock { $0[key] = entry }
    #endif
  }

  /// Removes a queue that is about to be freed.
  static func remove(_ key: UInt, _ isListed: borrowing Atomic<Bool>) {
    #if !HEADGATE_EXPLORE
    guard isListed.load(ordering: .relaxed) else { return }
    // Removed under the lock, released after it.
    let entry = entries.withLock { $0.removeValue(forKey: key) }
    _ = consume entry
    #endif
  }

  /// The queues as lines of a dump, in no particular order.
  static var lines: [DumpLine] {
    let (summaries, ordered) = entries.withLock { entries in
      var summaries: [QueueSummary] = []
      var ordered: [@Sendable () -> QueueSummary?] = []
      for entry in entries.values {
        switch entry {
        case .core(let core): summaries.append(core.summary)
        case .rendezvous(let rendezvous): summaries.append(rendezvous.summary)
        case .ordered(let summary): ordered.append(summary)
        }
      }
      return (summaries, ordered)
    }
    return (summaries + ordered.compactMap { $0() }).map(DumpLine.init)
  }
}
