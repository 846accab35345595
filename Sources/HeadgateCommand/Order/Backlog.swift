import HeadgateDispatch

/// Decides which lines of a list wait in the dispatcher's queue and which on disk, so that a list sorted by host keeps
/// as many hosts busy as a shuffled one. It holds only counts: no lines, threads or files.
///
///     line of the list ──▶ queue ──▶ ended
///              │            ▲
///              ▼            │ when the end-point has few in the queue
///            staged ──▶ stored
///
/// An end-point may have ``Entry/most`` lines in the queue. Further lines are staged: the driver writes them to disk,
/// reports ``stored(_:at:)``, and reads them back when it receives a ``Recall``. The lines of one end-point keep their
/// order. Each event takes O(1) on average. Memory: O(end-points with a line in the queue or on disk).
struct Backlog: Sendable {
  /// Lines that the driver must read back and submit. They already count as queued. After submitting them, the driver
  /// calls ``recallEnded(_:missing:)``.
  struct Recall: Hashable, Sendable {
    let endPoint: EndPoint
    let count: Int
  }

  private struct Entry {
    /// The most lines in the queue, running ones included.
    let most: Int
    var queued = 0
    /// On their way to disk.
    var staged = 0
    var stored = 0
    var isRecalling = false

    var isEmpty: Bool { queued == 0 && staged == 0 && stored == 0 && !isRecalling }

    /// Lines are read back when no more than this many are queued: the last quarter, in one step.
    var mark: Int { most - max(1, most / 4) }
  }

  private var entries: [EndPoint: Entry] = [:]
  private(set) var staged = 0
  private(set) var stored = 0
  /// The disk is full. Until all lines on it have been read back, every line goes to the queue.
  private(set) var isFull = false

  /// End-points with a line in the queue or on disk.
  var endPoints: Int { entries.count }

  /// Whether the next line of an end-point goes to the queue. If not, it is staged.
  ///
  /// - Parameter most: Returns the limit of queued lines. Called only if the end-point has no lines yet.
  mutating func admit(to endPoint: EndPoint, most: () -> Int) -> Bool {
    var entry = entries[endPoint] ?? Entry(most: max(1, most()))
    // A line must not overtake those on disk.
    let isQueued =
      isFull || entry.queued < entry.most && entry.staged == 0 && entry.stored == 0 && !entry.isRecalling
    if isQueued {
      entry.queued += 1
    } else {
      entry.staged += 1
      staged += 1
    }
    entries[endPoint] = entry
    return isQueued
  }

  /// Staged lines have been written to disk.
  mutating func stored(_ count: Int, at endPoint: EndPoint) -> Recall? {
    change(endPoint) { entry, backlog in
      entry.staged -= count
      entry.stored += count
      backlog.staged -= count
      backlog.stored += count
    }
  }

  /// Staged lines did not fit on disk. The driver submits them now.
  mutating func refused(_ count: Int, at endPoint: EndPoint) {
    isFull = stored > 0
    _ = change(endPoint) { entry, backlog in
      entry.staged -= count
      entry.queued += count
      backlog.staged -= count
    }
  }

  /// A queued line ended, with success or not.
  mutating func ended(at endPoint: EndPoint) -> Recall? { change(endPoint) { entry, _ in entry.queued -= 1 } }

  /// A recall is over.
  ///
  /// - Parameter missing: How many of its lines could not be read.
  mutating func recallEnded(_ endPoint: EndPoint, missing: Int = 0) -> Recall? {
    change(endPoint) { entry, _ in
      entry.isRecalling = false
      entry.queued -= missing
    }
  }

  /// Forgets the lines of an end-point on disk. Returns their number.
  mutating func abandon(_ endPoint: EndPoint) -> Int {
    let count = entries[endPoint]?.stored ?? 0
    _ = change(endPoint) { entry, backlog in
      entry.stored = 0
      backlog.stored -= count
    }
    return count
  }

  /// Forgets all lines on disk. Returns their number. O(end-points).
  mutating func abandonAll() -> Int {
    guard stored > 0 else { return 0 }
    return Array(entries.keys).reduce(0) { $0 + abandon($1) }
  }

  private mutating func change(_ endPoint: EndPoint, _ body: (inout Entry, inout Backlog) -> Void) -> Recall? {
    guard var entry = entries[endPoint] else { return nil }
    body(&entry, &self)
    var recall: Recall?
    if !entry.isRecalling, entry.stored > 0, entry.queued <= entry.mark {
      let count = min(entry.stored, entry.most - entry.queued)
      entry.isRecalling = true
      entry.stored -= count
      entry.queued += count
      stored -= count
      recall = Recall(endPoint: endPoint, count: count)
    }
    if stored == 0 { isFull = false }
    entries[endPoint] = entry.isEmpty ? nil : entry
    return recall
  }
}
