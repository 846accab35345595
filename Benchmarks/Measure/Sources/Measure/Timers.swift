/// The same pseudo-random delays, one to two minutes, as the programs in other languages use.
public struct TimerDelays {
  @usableFromInline var state: UInt64 = 1

  /// Starts the sequence.
  @inlinable
  public init() {}

  /// The next delay, in microseconds.
  @inlinable
  public mutating func next() -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return 60_000_000 + Int((state >> 33) % 60_000_000)
  }
}

/// With PENDING timers pending, cancels the oldest eighth of them and schedules as many new ones, repeatedly for
/// SECONDS; prints the rates and the memory of a pending timer.
///
/// - Parameters:
///   - schedule: Creates a timer that fires after a number of microseconds.
///   - cancel: Cancels a timer; returns true if it will not fire.
@inlinable
public func measureTimers<Handle>(
  _ peer: String, pending: Int, seconds: Double, schedule: (Int) throws -> Handle, cancel: (Handle) -> Bool
) rethrows {
  var delays = TimerDelays()
  // Filled before the measurement, so that the array's own pages are not counted as timers' memory.
  var waiting = [Handle?](repeating: nil, count: pending)
  let before = residentBytes()
  for index in 0..<pending { waiting[index] = try schedule(delays.next()) }
  let bytes = (residentBytes() - before) / pending

  let eighth = pending / 8
  var (scheduling, cancelling, count, round) = (0, 0, 0, 0)
  let start = Usage.now
  while Double(scheduling + cancelling) < seconds * 1e9 {
    let turn = (round % 8 * eighth)..<(round % 8 * eighth + eighth)
    let began = monotonicNanoseconds()
    var cancelled = true
    for index in turn { if let handle = waiting[index] { cancelled = cancel(handle) && cancelled } }
    let between = monotonicNanoseconds()
    for index in turn { waiting[index] = try schedule(delays.next()) }
    scheduling += monotonicNanoseconds() - between
    cancelling += between - began
    check(cancelled, "a timer was not cancelled")
    count += eighth
    round += 1
  }
  let used = Usage.now.since(start)
  printFigures(
    peer, operations: 2 * count, used: used,
    [
      ("schedule", Double(count) / Double(scheduling) * 1e3), ("cancel", Double(count) / Double(cancelling) * 1e3),
      ("bytes", Double(bytes)),
    ])
  withExtendedLifetime(waiting) {}
}

/// Prints how late timers of 1 ms were.
///
/// - Parameter late: The lateness of each timer, in nanoseconds.
public func printLateness(_ peer: String, late: [Int], used: Usage) {
  let sorted = late.sorted()
  func microseconds(_ share: Double) -> Double { Double(sorted[Int(Double(sorted.count) * share)]) / 1e3 }
  printFigures(
    peer, operations: late.count, used: used, [("median_us", microseconds(0.5)), ("p99_us", microseconds(0.99))])
}
