import Exploring

/// A script about requests, played on a stage.
struct DispatchScript: Sendable {
  let name: String
  var setting = DispatchStage.Setting()
  var detours = 4
  /// What was submitted before the threads begin, and what they do.
  let threads: @Sendable (DispatchStage) throws -> [@Sendable () -> Void]
  /// What is wrong with the outcome beside what must hold for every script.
  var verdict: @Sendable (DispatchStage) -> String? = { _ in nil }

  /// Every interleaving up to the bound. Their number.
  func explore() throws(Explorer.Failure) -> Int {
    try Explorer(preemptions: Explorer.usualBound, detours: detours).explore(name) {
      guard let stage = try? DispatchStage(setting), let threads = try? threads(stage) else {
        return Explorer.Script(threads: []) { "not made" }
      }
      return Explorer.Script(threads: threads, last: { stage.finish() }) { stage.fault ?? verdict(stage) }
    }
  }
}
