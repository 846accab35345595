import CExplorer
import Exploring

/// A value that explored threads share and that is none of what is explored: none of its uses is a step, and what it orders is
/// told to the search for races.
// Unchecked: touched by the thread that has the turn only, and between runs.
final class Unseen<Value>: @unchecked Sendable {
  private var value: Value

  init(_ value: sending Value) { self.value = value }

  /// Uses the value. `body` must not come to a step.
  func use<Result>(_ body: (inout Value) -> Result) -> Result {
    let word = Unmanaged.passUnretained(self).toOpaque()
    explorer_acquire(word)
    defer { explorer_release(word) }
    return body(&value)
  }
}

/// What a script's own code asks of the run that it is in.
enum Here {
  /// Something shared is about to be touched: another thread may go on first.
  static func step() { Run.current?.step(Int(explorer_thread())) }

  /// Goes on after the next step of another.
  static func yield() { Run.current?.yield(Int(explorer_thread())) }
}
