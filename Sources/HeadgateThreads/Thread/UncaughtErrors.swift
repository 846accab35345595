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
