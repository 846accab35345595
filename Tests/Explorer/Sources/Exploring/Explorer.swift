import CExplorer
import Foundation

/// Runs a script of a few threads repeatedly, each time in another interleaving, until all interleavings with at most
/// `preemptions` preemptions are done: depth first over the choices, each run from the beginning.
///
/// Only one of the script's threads runs at a time. Before each access to a lock, a parker or an atomic word, the
/// explorer chooses the thread that continues. Continuing the current thread is free; switching from a thread that
/// could continue is a preemption. A script must be deterministic under the same choices: it must not depend on
/// addresses, hashes or real clocks.
package struct Explorer {
  /// The failure of one interleaving.
  package struct Failure: Error, CustomStringConvertible {
    package let reason: String
    package let schedule: [Int]
    package let runs: Int
    package var description: String { "\(reason), in run \(runs), by the schedule \(schedule.prefix(200))" }
  }

  /// A script: its threads, one more thread that starts once they and all that they have started have ended, and a
  /// check of the outcome after that. A reason is a failure.
  package struct Script {
    package var threads: [@Sendable () -> Void]
    package var last: (@Sendable () -> Void)?
    package var verdict: () -> String?

    package init(
      threads: [@Sendable () -> Void], last: (@Sendable () -> Void)? = nil, verdict: @escaping () -> String?
    ) {
      self.threads = threads
      self.last = last
      self.verdict = verdict
    }
  }

  /// Two find more: HEADGATE_PREEMPTIONS=2. That takes some eight minutes on one processor, with bounds on the detours
  /// of scripts that would take longer; with three, only the smallest scripts end before `mostRuns`.
  package static let usualBound = wantedBound ?? 1
  private static let wantedBound = number("HEADGATE_PREEMPTIONS")
  /// One fault of faults.txt and the script that must find it, with the names that Tests/Explorer/plant uses.
  private static let fault = number("HEADGATE_FAULT")
  private static let script = ProcessInfo.processInfo.environment["HEADGATE_SCRIPT"]

  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  package var preemptions: Int
  /// No bound, except where a script has so many threads that it would take hours. M. Emmi, S. Qadeer, Z. Rakamaric,
  /// "Delay-bounded scheduling" (2011).
  package var detours: Int
  package var wakeUps: Int
  package var mostRuns = 200_000

  package init(preemptions: Int = 2, detours: Int = .max, wakeUps: Int = 0) {
    self.preemptions = preemptions
    self.detours = detours
    self.wakeUps = wakeUps
  }

  /// Runs all interleavings of a script, and prints their number on request. With a fault planted, only the script that
  /// must find it is run.
  package func explore(_ name: String, _ make: () -> Script) throws(Failure) -> Int {
    if let fault = Self.fault {
      guard name == Self.script else { return .max }
      explorer_plant(Int32(fault))
    }
    let began = ContinuousClock.now
    do throws(Failure) {
      let runs = try explore(make)
      if Self.wantedBound != nil { print("\(name): \(runs) interleavings, \(ContinuousClock.now - began)") }
      return runs
    } catch {
      if Self.fault != nil { print("found: \(error.reason), in run \(error.runs)") }
      throw error
    }
  }

  /// Runs all interleavings, and returns their number. More than `mostRuns` are a failure: unexplored interleavings may
  /// be wrong.
  @discardableResult
  package func explore(_ make: () -> Script) throws(Failure) -> Int {
    var choices = Choices(.init(preemptions: preemptions, detours: detours, wakeUps: wakeUps))
    var runs = 0
    repeat {
      runs += 1
      if runs > mostRuns { throw Failure(reason: "more interleavings than \(mostRuns)", schedule: [], runs: runs) }
      let script = make()
      let run = Run(script.threads, last: script.last, choices)
      let stuck = run.go()
      choices = run.choices
      if let reason = stuck ?? script.verdict() {
        throw Failure(reason: reason, schedule: choices.taken, runs: runs)
      }
    } while choices.advance()
    return runs
  }
}
