/// What earlier processes knew of one end-point. All times are milliseconds since 1970 by the wall clock. A value
/// without a clock or a file of its own.
///
/// Whoever reads it may only wait longer or send less because of it. Every time is clamped when it is written and when
/// it is read, so that neither a mistake nor a clock that was wrong keeps anyone out for longer than that.
struct Remembered: Hashable, Sendable {
  /// What its server said, or what its silence showed.
  var server = Server()
  /// What the limits of programs have used up.
  var program = Program()

  /// No pause is kept for longer: a day.
  static let longestPause: Int64 = 86_400_000
  /// No outage is kept for longer: an hour. Its suspensions are short.
  static let longestOutage: Int64 = 3_600_000
  /// A time is from the future, and so of a clock that was wrong, if it is later than this after the present.
  static let tolerance: Int64 = 10_000

  /// What its server said, or what its silence showed.
  struct Server: Hashable, Sendable {
    /// It accepts nothing before a time.
    struct Pause: Hashable, Sendable {
      /// When it said so.
      let said: Int64
      let until: Int64
      /// The status of the refusal. Nil for an exhausted quota, and for a refusal without a status.
      let status: Int?
    }

    /// It could not be reached.
    struct Outage: Hashable, Sendable {
      let said: Int64
      let until: Int64
      /// It was tried so often that requests fail at once until then.
      let hasGivenUp: Bool
    }

    /// Limits learned from its refusals.
    struct Learned: Hashable, Sendable {
      let said: Int64
      let until: Int64
      let requests: Int
      let rate: Double?
    }

    var pause: Pause?
    var outage: Outage?
    var learned: Learned?
  }

  /// The end of the last thing that it knows. Nil if it knows nothing.
  var end: Int64? {
    [server.pause?.until, server.outage?.until, server.learned?.until, program.end].compactMap(\.self).max()
  }

  /// Removes what is past or from the future, and shortens what is too long.
  mutating func clamp(at now: Int64) {
    server.clamp(at: now)
    program.clamp(at: now)
  }

  /// The end of something that was said at one time and is to last until another. Nil if it is past, or from the
  /// future.
  static func end(said: Int64, until: Int64, atMost longest: Int64, at now: Int64) -> Int64? {
    guard said <= now + tolerance else { return nil }
    let end = min(until, min(said, now) + longest)
    return end > now ? end : nil
  }
}

extension Remembered.Server {
  /// It accepts nothing for a while. A pause that ends later stays.
  ///
  /// - Parameters:
  ///   - until: The end of the pause.
  ///   - status: The status of the refusal.
  ///   - now: The current time.
  mutating func paused(until: Int64, status: Int?, at now: Int64) {
    guard until > pause?.until ?? now else { return }
    pause = Pause(said: now, until: until, status: status)
    clamp(at: now)
  }

  /// It could not be reached, and is left alone for a while. An outage that ends later stays.
  mutating func suspended(until: Int64, hasGivenUp: Bool, at now: Int64) {
    guard until > outage?.until ?? now else { return }
    outage = Outage(said: now, until: until, hasGivenUp: hasGivenUp)
    clamp(at: now)
  }

  /// It has answered a request, and refused nothing. What was said after the start of that request stays.
  mutating func answered(startedAt start: Int64) {
    if let pause, pause.said < start { self.pause = nil }
    if let outage, outage.said < start { self.outage = nil }
  }

  /// A refusal has changed what is known of its limits. The latest refusal counts, since a limit may have become
  /// higher.
  mutating func learned(requests: Int, rate: Double?, until: Int64, at now: Int64) {
    learned = Learned(said: now, until: until, requests: requests, rate: rate)
    clamp(at: now)
  }

  mutating func clamp(at now: Int64) {
    func end(_ said: Int64, _ until: Int64, _ longest: Int64) -> Int64? {
      Remembered.end(said: said, until: until, atMost: longest, at: now)
    }
    if let known = pause {
      pause = end(known.said, known.until, Remembered.longestPause)
        .map { Pause(said: known.said, until: $0, status: known.status) }
    }
    if let known = outage {
      outage = end(known.said, known.until, Remembered.longestOutage)
        .map { Outage(said: known.said, until: $0, hasGivenUp: known.hasGivenUp) }
    }
    if let known = learned {
      learned = end(known.said, known.until, Remembered.longestPause)
        .map { Learned(said: known.said, until: $0, requests: known.requests, rate: known.rate) }
    }
  }
}
