import HeadgateGate
import HeadgateLibC
import HeadgateThreads

/// A pause in the protocol: `pause for=api.example.com:443 until=1764000000000 cause=429`. Its end is given by the wall
/// clock, in milliseconds since 1970, since a line may be read late.
struct PermitPause: Hashable, Sendable {
  let endPoint: EndPoint
  let until: Int64
  let cause: SharedPause.Cause

  init(_ pause: SharedPause, at now: Int64 = Self.now()) {
    (endPoint, cause) = (pause.endPoint, pause.cause)
    // Rounded up. Far from overflow.
    until = now + (pause.left.wholeNanoseconds + 999_999) / 1_000_000
  }

  /// Nil if a word is missing or invalid.
  init?(_ words: PermitWords) {
    guard let endPoint = words.first("for").flatMap({ EndPoint(sharedName: $0) }),
      let until = words.first("until").flatMap({ Int64($0) }), until >= 0
    else { return nil }
    (self.endPoint, self.until) = (endPoint, until)
    switch words.first("cause") {
    case "unreachable": cause = .unreachable
    // A cause of a later version is a refusal too.
    case let text: cause = .refused(status: text.flatMap { Int($0) }.flatMap { (100...999).contains($0) ? $0 : nil })
    }
  }

  var words: PermitWords {
    var words = PermitWords("pause")
    words.add("for", endPoint.sharedName)
    words.add("until", "\(until)")
    switch cause {
    case .refused(nil): words.add("cause", "refused")
    case .refused(let status?): words.add("cause", "\(status)")
    case .unreachable: words.add("cause", "unreachable")
    }
    return words
  }

  /// What is left of it at a time. Nil if it is past.
  func pause(at now: Int64 = Self.now()) -> SharedPause? {
    let (left, isTooLong) = until.subtractingReportingOverflow(now)
    return SharedPause(at: endPoint, left: .milliseconds(isTooLong ? .max : min(left, 1 << 40)), cause)
  }

  /// The time by the wall clock, in milliseconds since 1970.
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
