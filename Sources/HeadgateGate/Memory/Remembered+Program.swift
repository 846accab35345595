// Starts of programs in long windows, so that a program that is started again does not begin with a full allowance.

/// A limit on the starts in a window that is long enough to be remembered.
struct StartBound: Hashable, Sendable {
  /// The number of starts in each window.
  let units: Int
  /// The window, in milliseconds.
  let length: Int64
  /// What a request waits for, if nothing is left.
  let cause: StartCause

  /// Shorter windows are not remembered: a program that is started again more often than once in a minute is rare, and
  /// each start would cost a write.
  static let shortest: Int64 = 60_000

  /// The number of starts that a process reserves together: a tenth of those that it has had in the same part of the
  /// window, so that a burst costs few writes, or a thousandth of all. A process that ends loses what it has not used,
  /// so one that starts little must reserve no more than it starts.
  func batch(after earlier: Int) -> Int { max(1, units / 1000, earlier / 10) }
}

extension Remembered {
  /// What the limits of programs have used up.
  struct Program: Hashable, Sendable {
    /// The starts in a window.
    ///
    /// The window is divided into a hundred parts by the wall clock, and all starts in one part count as if they came
    /// at its end. So few numbers suffice for any rate, and a start that is counted before it happens does not leave
    /// the window too early, as long as it happens within that part.
    struct Window: Hashable, Sendable {
      struct Part: Hashable, Sendable {
        let end: Int64
        var starts: Int
      }

      /// In milliseconds.
      let length: Int64
      /// In order, the oldest first.
      var parts: [Part] = []
    }

    /// One for each length, the one used last at the end.
    var windows: [Window] = []

    static let mostWindows = 16
    /// There are a hundred in a window, and some more from a clock that was set back a little.
    static let mostParts = 128
    /// The longest window is longer than the longest period of a rate, because a spread is added: two years.
    static let longestWindow: Int64 = 2 * 366 * 86_400_000

    var end: Int64? { windows.compactMap(\.end).max() }

    mutating func clamp(at now: Int64) {
      for place in windows.indices { windows[place].clamp(at: now) }
      windows.removeAll(where: \.parts.isEmpty)
    }
  }

  /// The answer to a program that wants to start something.
  enum Reservation: Hashable, Sendable {
    /// This many starts are counted, and may happen before a time.
    case granted(Int, before: Int64)
    /// Nothing may start before a time, because of a limit.
    case waits(until: Int64, StartCause)
  }
}

extension Remembered.Program {
  /// Counts starts in all windows, or in none. As many as the smallest batch, if all windows have room for them.
  ///
  /// - Parameters:
  ///   - bounds: The limits, at least one.
  ///   - earlier: How many the process has started in the current part.
  ///   - now: The current time.
  mutating func reserve(_ bounds: [StartBound], after earlier: Int = 0, at now: Int64) -> Remembered.Reservation {
    clamp(at: now)
    // A limit set has few rates. More windows than these would not be read again.
    let bounds = bounds.prefix(Self.mostWindows)
    let uses = bounds.map { bound in windows.first { $0.length == bound.length } ?? Window(length: bound.length) }
    var blocked: (until: Int64, cause: StartCause)?
    var count = Int.max
    for (bound, window) in zip(bounds, uses) {
      count = min(count, bound.batch(after: earlier), bound.units - window.starts)
      guard let moment = window.earliest(for: bound.units), moment > blocked?.until ?? now else { continue }
      blocked = (moment, bound.cause)
    }
    if let blocked { return .waits(until: blocked.until, blocked.cause) }
    var before = Int64.max
    // Two limits may have the same window, which then counts once.
    var counted: Set<Int64> = []
    for var window in uses where counted.insert(window.length).inserted {
      before = min(before, window.take(max(1, count), at: now))
      windows.removeAll { $0.length == window.length }
      windows.append(window)
    }
    if windows.count > Self.mostWindows { windows.removeFirst(windows.count - Self.mostWindows) }
    return .granted(max(1, count), before: before)
  }
}

extension Remembered.Program.Window {
  /// The starts in the window.
  var starts: Int { parts.reduce(0) { $0 + $1.starts } }

  /// When the last start leaves the window. Nil if there is none.
  var end: Int64? { parts.last.map { $0.end + length } }

  /// The duration of a part.
  var width: Int64 { max(1, length / 100) }

  /// The time at which a window of that many starts has room. Nil if there is room now.
  func earliest(for units: Int) -> Int64? {
    var left = starts
    guard left >= units else { return nil }
    for part in parts {
      left -= part.starts
      if left < units { return part.end + length }
    }
    return end
  }

  /// Counts starts in the current part. Returns its end.
  mutating func take(_ count: Int, at now: Int64) -> Int64 {
    let end = (now / width + 1) * width
    if let last = parts.last, last.end >= end {
      // One that is later is of a clock that was set back a little.
      parts[parts.count - 1].starts += count
    } else {
      parts.append(Part(end: end, starts: count))
    }
    return end
  }

  mutating func clamp(at now: Int64) {
    let newest = now + width + Remembered.tolerance
    parts.removeAll { [length] in $0.end + length <= now || $0.end > newest }
    if parts.count > Remembered.Program.mostParts { parts.removeFirst(parts.count - Remembered.Program.mostParts) }
  }
}
