import Exploring
import HeadgateDispatch

/// A script about requests, played on a stage.
struct DispatchScript: Sendable {
  let name: String
  var setting = DispatchStage.Setting()
  var detours = 4
  /// The interceptor of each run, besides those of the setting.
  var interceptor: (@Sendable () -> any RequestInterceptor)?
  /// The requests submitted before the threads start, and the bodies of the threads.
  let threads: @Sendable (DispatchStage) throws -> [@Sendable () -> Void]
  /// Additional checks of the outcome, besides those for every script.
  var verdict: @Sendable (DispatchStage) -> String? = { _ in nil }

  /// Explores every interleaving up to the bound, and returns their number.
  func explore() throws(Explorer.Failure) -> Int {
    try Explorer(preemptions: Explorer.usualBound, detours: detours).explore(name) {
      var setting = setting
      if let interceptor { setting.interceptors.append(interceptor()) }
      guard let stage = try? DispatchStage(setting), let threads = try? threads(stage) else {
        return Explorer.Script(threads: []) { "not made" }
      }
      return Explorer.Script(threads: threads, last: { stage.finish() }) { stage.fault ?? verdict(stage) }
    }
  }
}
