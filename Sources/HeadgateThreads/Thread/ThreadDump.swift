/// A text that shows what all threads, loops, pools, queues and timer threads are doing, for people to read: `jstack`
/// for Headgate.
///
///     print(ThreadDump.text())
///
/// One line for each, in this order, with names in quotes:
///
///     thread "main" 4711
///     thread "one" 4712 waits for the end of thread "two", 3.204 s so far
///     thread "two" 4713 waits for a task of pool "work", 3.201 s so far
///     thread "idle" 4714 sleeps, 0.812 s so far
///     loop "ui": 3 calls, 1 timer, 0 sources, 2 descriptors
///     pool "work": 2 threads, 1 idle, 5 tasks queued, 120 completed
///     queue "images": 10 elements, capacity 10, 2 waiting puts, 0 waiting takes
///     timer thread "headgate-timer": 4 timers
///     cycle: thread "one" waits for the end of thread "two", which waits for the end of thread "one"
///
/// The dump lists threads that this library started and foreign threads that have used it, each with the thread ID that
/// the system's tools show. `waits for` names the thread, loop or pool task that the thread waits for. `sleeps` means
/// another wait in this library (for a queue's element, a time, a permit). A line with neither means that the thread
/// runs, or waits outside this library. Only joins with deadlines, and briefly threads that were cancelled, can form a
/// cycle: any other wait that would close one is refused. The dump does not list a loop that has stopped, a pool whose
/// last reference is gone, or a timer thread before its first timer.
///
/// A queue is listed once a call has had to wait there for an element or for space. Its line shows how many threads and
/// tasks are waiting there now; a `select` counts at each of its queues. An unbounded queue has `unbounded` in place of
/// its capacity, and a closed one `closed` at the end. The other kinds are `priority queue` and `delay queue`, whose
/// elements are counted whether they are due or not. The ends of a channel are one queue.
///
/// The dump is not a consistent snapshot: each object is read in turn. It is meant for people. Programs should query
/// the objects.
public enum ThreadDump {
  /// Creates the dump. Can be called from any thread. O(n log n) in the number of objects. Threads that start or end
  /// meanwhile are delayed briefly.
  public static func text() -> String {
    let graph = WaitGraph.current
    let waits = Dictionary(graph.all.map { ($0.thread.id, $0) }, uniquingKeysWith: { first, _ in first })
    let now = Deadline.now
    let lines = DumpRegistry.collect { $0.dumpLine(waits: waits, now: now) } + QueueRegistry.lines
    let cycles = graph.cycles.compactMap { cycle in
      cycle.first.map { "cycle: " + WaitGraph.describe($0.thread, cycle.flatMap(\.targets)) }
    }
    return (lines.sorted { ($0.rank, $0.text) < ($1.rank, $1.text) }.map(\.text) + cycles.sorted())
      .map { $0 + "\n" }.joined()
  }
}

/// One line of a dump, with its position.
struct DumpLine: Sendable {
  enum Kind: Int {
    case thread, loop, pool, queue, timerThread
  }

  let rank: Int
  let text: String

  init(_ kind: Kind, _ text: String) { (rank, self.text) = (kind.rawValue, text) }
}

/// An object that appears in dumps. It stays alive until it has left the registry: its thread or its pool's handle
/// retains it.
protocol Dumped: AnyObject, Sendable {
  /// Its line, or nil if there is nothing to show. Called under the registry's lock; may take the object's own lock.
  func dumpLine(waits: [ThreadRecord.ID: WaitGraph.Wait], now: Deadline) -> DumpLine?
}

/// All objects that appear in dumps.
enum DumpRegistry {
  // Unsafe: the owner retains the object until it has left the registry, under the registry's lock. So the object lives
  // while a dump reads it, and the dump's reference is never the last one, whose release would re-enter the registry
  // with the lock held. A weak reference would slow down every retain and release of the object for its whole life.
  private struct Entry: @unchecked Sendable {
    unowned(unsafe) let object: any Dumped
  }

  private static let entries = Locked<[ObjectIdentifier: Entry]>([:])

  static func add(_ object: some Dumped) {
    #if !HEADGATE_EXPLORE
    entries.withLock { $0[ObjectIdentifier(object)] = Entry(object: object) }
    #endif
  }

  static func remove(_ object: some Dumped) {
    #if !HEADGATE_EXPLORE
    _ = entries.withLock { $0.removeValue(forKey: ObjectIdentifier(object)) }
    #endif
  }

  /// Reads each object with the lock held, so that none leaves meanwhile.
  static func collect(_ line: (any Dumped) -> DumpLine?) -> [DumpLine] {
    entries.withLock { $0.values.compactMap { line($0.object) } }
  }
}

// MARK: The lines

extension ThreadRecord: Dumped {
  func dumpLine(waits: [ID: WaitGraph.Wait], now: Deadline) -> DumpLine? {
    guard let number = withSystemThread({ $0.number }) else { return nil }
    let name = name
    var text = name.isEmpty ? "thread \(number)" : "thread \"\(name)\" \(number)"
    if let wait = waits[id] {
      text += " waits for \(wait.name), \(seconds(now - wait.since)) so far"
    } else if let since = sleepsSince {
      text += " sleeps, \(seconds(now - since)) so far"
    }
    return DumpLine(.thread, text)
  }
}

extension LoopCore: Dumped {
  func dumpLine(waits: [ThreadRecord.ID: WaitGraph.Wait], now: Deadline) -> DumpLine? {
    state.withLock { state in
      guard state.phase == .open else { return nil }
      return DumpLine(
        .loop,
        "loop \"\(name)\": "
          + [
            count(state.inbox.count, "call"), count(state.timers.count, "timer"), count(state.sources.count, "source"),
            count(state.watches.count, "descriptor"),
          ].joined(separator: ", "))
    }
  }
}

extension PoolCore: Dumped {
  func dumpLine(waits: [ThreadRecord.ID: WaitGraph.Wait], now: Deadline) -> DumpLine? {
    let numbers = statistics
    return DumpLine(
      .pool,
      "pool \"\(name)\": \(count(numbers.threads, "thread")), \(numbers.idle) idle, \(count(numbers.queued, "task")) queued, "
        + "\(numbers.completed) completed")
  }
}

extension TimerThread: Dumped {
  func dumpLine(waits: [ThreadRecord.ID: WaitGraph.Wait], now: Deadline) -> DumpLine? {
    DumpLine(.timerThread, "timer thread \"\(name)\": \(count(pendingCount, "timer"))")
  }
}

extension DumpLine {
  init(_ queue: QueueSummary) {
    let parts = [
      count(queue.count, "element"), queue.capacity == .max ? "unbounded" : "capacity \(queue.capacity)",
      count(queue.waiting.putters, "waiting put"), count(queue.waiting.takers, "waiting take"),
      queue.isClosed ? "closed" : nil,
    ]
    self.init(.queue, "\(queue.kind) \"\(queue.name)\": " + parts.compactMap(\.self).joined(separator: ", "))
  }
}

private func count(_ number: Int, _ name: String) -> String { "\(number) \(name)\(number == 1 ? "" : "s")" }

private func seconds(_ duration: Duration) -> String {
  "\(Double(max(0, duration.wholeNanoseconds) / 1_000_000) / 1000) s"
}
