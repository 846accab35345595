/// A thread's body and outcome. A base class, so that the machinery around it is not generic.
// Unchecked: accessed by its creator, then by the thread until its body counts as ended, then by the winner of the claim
// on its end. The core's lock orders each with the next.
@usableFromInline class ThreadWork: @unchecked Sendable {
  /// Runs the body and releases it.
  func run() {}

  /// The error that the body threw; nil before its end.
  var failure: (any Error)? { nil }

  /// Releases the outcome.
  func discard() {}
}

// Unchecked: like its superclass.
@usableFromInline final class TypedThreadWork<Success, Failure: Error>: ThreadWork, @unchecked Sendable {
  private var body: (() throws(Failure) -> sending Success)?
  private var outcome: Result<Success, Failure>?

  @usableFromInline init(_ body: sending @escaping () throws(Failure) -> sending Success) { self.body = body }

  override func run() {
    // Taken, so that the body's captures are released on this thread and before the end is announced.
    guard let body = body.take() else { return }
    do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
  }

  override var failure: (any Error)? {
    if case .failure(let failure)? = outcome { failure } else { nil }
  }

  override func discard() { outcome = nil }

  /// The outcome, for the winner of the claim; nil if the body never returned.
  @usableFromInline func takeOutcome() -> sending Result<Success, Failure>? {
    // Unsafe: the value leaves this object for good with the winner of the claim; no other thread accesses it here.
    nonisolated(unsafe) let taken = outcome.take()
    return taken
  }
}

/// Handles the errors of threads that are never joined.
enum UncaughtErrors {
  typealias Handler = @Sendable (any Error, ThreadHandle) -> Void

  private static let handler = Locked<Handler?>(nil)

  static var processHandler: Handler? {
    get { handler.withLock { $0 } }
    set {
      // Swapped under the lock, and the old one released after it.
      var other = newValue
      handler.withLock { swap(&$0, &other) }
    }
  }

  static func report(_ error: any Error, of thread: ThreadHandle, to threadHandler: Handler?) {
    if let handler = threadHandler ?? processHandler {
      handler(error, thread)
    } else {
      HeadgateLog.warn(.thread, "thread \"\(thread.name)\" ended with an error and was not joined: \(error)")
    }
  }
}
