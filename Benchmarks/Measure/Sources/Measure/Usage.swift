#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The resources that the process has used so far; the difference between two of these is the usage of a run.
public struct Usage: Sendable {
  /// Wall time, in seconds since an arbitrary point.
  public var seconds: Double
  /// User and system time.
  public var cpu: Double
  /// Context switches, voluntary and not.
  public var switches: Int

  /// Now.
  public static var now: Usage {
    var usage = rusage()
    getrusage(ownProcess, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return Usage(
      seconds: Double(monotonicNanoseconds()) / 1e9, cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
      switches: Int(usage.ru_nvcsw + usage.ru_nivcsw))
  }

  /// The usage since `before`.
  public func since(_ before: Usage) -> Usage {
    Usage(seconds: seconds - before.seconds, cpu: cpu - before.cpu, switches: switches - before.switches)
  }
}

/// The clock of every measurement.
public func monotonicNanoseconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
}

#if canImport(Glibc)
private let ownProcess = RUSAGE_SELF.rawValue
#else
private let ownProcess = RUSAGE_SELF
#endif

/// Runs growing numbers of operations until a run takes a third of `seconds` (the warm-up), then the number that should
/// take `seconds`, and prints the line for that run. A run that takes less than half the time is repeated.
public func measure<Failure: Error>(_ peer: String, seconds: Double, run: (Int) throws(Failure) -> Void) throws(Failure)
{
  func timed(_ start: Int, least: Double) throws(Failure) -> (operations: Int, used: Usage) {
    var operations = start
    while true {
      let before = Usage.now
      try run(operations)
      let used = Usage.now.since(before)
      if used.seconds >= least { return (operations, used) }
      operations *= used.seconds < least / 8 ? 8 : 2
    }
  }
  let tried = try timed(1024, least: seconds / 3)
  let enough = Int(Double(tried.operations) * seconds / tried.used.seconds) / 4 * 4 + 4
  let (operations, used) = try timed(enough, least: seconds / 2)
  printFigures(peer, operations: operations, used: used, [("rate", Double(operations) / used.seconds / 1e6)])
}

/// Prints the one line of a measurement: `name=value` pairs. Rates are in millions a second.
public func printFigures(_ peer: String, operations: Int, used: Usage, _ figures: [(name: String, value: Double)]) {
  func rounded(_ value: Double) -> String {
    let millionths = Int((value * 1e6).rounded())
    let rest = String(millionths % 1_000_000)
    return "\(millionths / 1_000_000).\(String(repeating: "0", count: 6 - rest.count))\(rest)"
  }
  var words = ["peer=\(peer)", "operations=\(operations)", "seconds=\(rounded(used.seconds))"]
  words += figures.map { "\($0.name)=\(rounded($0.value))" }
  words += ["cpu=\(rounded(used.cpu))", "switches=\(used.switches)"]
  print(words.joined(separator: " "))
}

/// Exits if a result is wrong: the figures of a faulty run are meaningless.
@inlinable
public func check(_ right: Bool, _ what: @autoclosure () -> String = "what came is not what was sent") {
  if !right { complain(what()) }
}
