#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What the process has used so far; the difference of two of these is what a run used.
public struct Usage: Sendable {
  /// Wall time, in seconds since a point that means nothing.
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

  /// What was used after `before`.
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

/// Runs ever more operations until a run takes a third of `seconds` (that is the warm-up), then as many as should take
/// `seconds`, and prints the line about those. A run that hurried through in less than half the time is made again.
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

/// Ends the process where a result is not what it must be: a figure of a broken run is worth nothing.
@inlinable
public func check(_ right: Bool, _ what: @autoclosure () -> String = "what came is not what was sent") {
  if !right { complain(what()) }
}
