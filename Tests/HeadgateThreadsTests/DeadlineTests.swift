import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct DeadlineTests {
  private static let year = Duration.seconds(31_556_952)

  @Test("P73 deadlines 0, past, +292 years, UInt64.max")
  func extremes() {
    let now = Deadline.now
    #expect(Deadline.distantPast < now)
    #expect(now < .distantFuture)
    #expect(Deadline.after(.zero) <= .now)
    #expect(Deadline.after(.seconds(-1)) < now)
    #expect(Deadline.after(.seconds(Int64.min)) == .distantPast)
    #expect(Deadline.after(Self.year * 292) > now + Self.year * 291)
    #expect(Deadline.after(Self.year * 292) < .distantFuture)
    #expect(Deadline.after(.seconds(Int64.max)) > now + Self.year * 291)
  }

  @Test("Sums saturate at both ends and never wrap")
  func saturation() {
    #expect(Deadline(nanoseconds: .max - 1) + .nanoseconds(1) == .distantFuture)
    #expect(Deadline(nanoseconds: .max - 1) + .nanoseconds(2) == .distantFuture)
    #expect(Deadline(nanoseconds: .max - 1) + .nanoseconds(Int64.max) == .distantFuture)
    #expect(Deadline(nanoseconds: .max - 1) + .zero == Deadline(nanoseconds: .max - 1))
    #expect(Deadline(nanoseconds: 1) + .nanoseconds(-1) == .distantPast)
    #expect(Deadline(nanoseconds: 1) + .nanoseconds(-2) == .distantPast)
    #expect(Deadline(nanoseconds: 1) + .nanoseconds(Int64.min) == .distantPast)
    #expect(Deadline.distantPast + .seconds(-1) == .distantPast)
    #expect(Deadline(nanoseconds: 1 << 63) + .nanoseconds(Int64.min) == .distantPast)
    #expect(Deadline(nanoseconds: 5) + .nanoseconds(Int64.max) == Deadline(nanoseconds: (1 << 63) + 4))
  }

  @Test("Never stays never after any subtraction")
  func never() {
    for distance in [Duration.zero, .seconds(-1), .nanoseconds(Int64.min), .seconds(Int64.min), .seconds(1)] {
      #expect(Deadline.distantFuture + distance == .distantFuture)
    }
  }

  @Test("Differences have a sign and hold the whole range")
  func differences() {
    let early = Deadline(nanoseconds: 1_000_000_001)
    let late = Deadline(nanoseconds: 3_500_000_000)
    #expect(late - early == .nanoseconds(2_499_999_999))
    #expect(early - late == .nanoseconds(-2_499_999_999))
    #expect(early - early == .zero)
    let whole = Duration.nanoseconds(Int64.max) * 2 + .nanoseconds(1)
    #expect(Deadline.distantFuture - .distantPast == whole)
    #expect(Deadline.distantPast - .distantFuture == .zero - whole)
    #expect(late.nanoseconds(since: early) == 2_499_999_999)
    #expect(early.nanoseconds(since: late) == -2_499_999_999)
    #expect(Deadline.distantFuture.nanoseconds(since: .distantPast) == .max)
    #expect(Deadline.distantPast.nanoseconds(since: .distantFuture) == -.max)
  }

  @Test("A time plus the difference to another is the other", arguments: [1, 2, 3] as [UInt64])
  func roundTrip(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<1000 {
      let first = Deadline(nanoseconds: random.next() >> UInt64.random(in: 1..<64, using: &random))
      let second = Deadline(nanoseconds: random.next() >> UInt64.random(in: 1..<64, using: &random))
      #expect(first + (second - first) == second)
    }
  }

  @Test(
    "Nanoseconds are rounded towards zero and clamped to the range of Int64",
    arguments: [
      (.zero, 0),
      (.nanoseconds(Int64.max), .max),
      (.nanoseconds(Int64.min), .min),
      (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
      (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
      (.nanoseconds(Int64.max) - .nanoseconds(1), .max - 1),
      (.nanoseconds(Int64.min) + .nanoseconds(1), .min + 1),
      (.seconds(Int64.max), .max),
      (.seconds(Int64.min), .min),
      // Beyond the range of `Duration.components`.
      (.seconds(Int64.max) * 3, .max),
      (.seconds(Int64.min) * 3, .min),
      (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
      (Duration(secondsComponent: 0, attosecondsComponent: -999_999_999), 0),
      (Duration(secondsComponent: -1, attosecondsComponent: -1_500_000_000), -1_000_000_001),
      (Duration(secondsComponent: 1, attosecondsComponent: 1_500_000_000), 1_000_000_001),
    ] as [(Duration, Int64)]
  )
  func wholeNanoseconds(duration: Duration, expected: Int64) {
    #expect(duration.wholeNanoseconds == expected)
  }

  @Test("Seconds in log records have fractions and a sign")
  func inSeconds() {
    #expect(Duration.milliseconds(1500).inSeconds == 1.5)
    #expect(Duration.milliseconds(-250).inSeconds == -0.25)
  }

  @Test("A description has the seconds of a reading, and names for both ends")
  func description() {
    #expect("\(Deadline(nanoseconds: 1_070_500_000_000))" == "1070.5 s")
    #expect("\(Deadline.distantFuture) \(Deadline.distantPast)" == "distantFuture distantPast")
  }

  @Test("A duration in words has the two largest units")
  func words() {
    let durations: [Duration] = [.microseconds(10), .milliseconds(80), .seconds(12.5), .seconds(185), .seconds(22_680)]
    #expect(durations.map(\.words) == ["0 ms", "80 ms", "12.5 s", "3 min 5 s", "6 h 18 min"])
  }

  @Test("P79 D43 the clock is the system's monotonic one, which changes of the wall clock do not affect")
  func clock() {
    let timers = TimerThread(name: "test-clock")
    defer { timers.dispose() }
    for _ in 0..<1000 {
      let before = Self.monotonic()
      let now = Deadline.now.nanoseconds
      let onTimers = timers.now.nanoseconds
      let after = Self.monotonic()
      #expect(before <= now && now <= onTimers && onTimers <= after)
    }
  }

  private static func monotonic() -> UInt64 {
    #if canImport(Darwin)
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW)
    #else
    let time = UnsafeMutablePointer<timespec>.allocate(capacity: 1)
    defer { time.deallocate() }
    clock_gettime(CLOCK_MONOTONIC, time)
    // Its members belong to a module that can't be imported.
    let (seconds, nanoseconds) = UnsafeRawPointer(time).load(as: (Int, Int).self)
    return UInt64(seconds) * 1_000_000_000 + UInt64(nanoseconds)
    #endif
  }
}
