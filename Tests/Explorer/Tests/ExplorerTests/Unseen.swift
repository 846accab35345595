import CExplorer
import Exploring

/// A value that explored threads share and that is not explored itself: none of its uses is a step, and the order that
/// it creates is reported to the race detector.
// Unchecked: accessed only by the thread whose turn it is, and between runs.
final class Unseen<Value>: @unchecked Sendable {
  private var value: Value

  init(_ value: sending Value) { self.value = value }

  /// Uses the value. `body` must not reach a step.
  func use<Result>(_ body: (inout Value) -> Result) -> Result {
    let word = Unmanaged.passUnretained(self).toOpaque()
    explorer_acquire(word)
    defer { explorer_release(word) }
    return body(&value)
  }
}

/// Calls of a script's own code to the run that it is in.
enum Here {
  /// A shared value is about to be accessed: another thread may continue first.
  static func step() { Run.current?.step(Int(explorer_thread())) }

  /// Continues after the next step of another thread.
  static func yield() { Run.current?.yield(Int(explorer_thread())) }
}
