import Synchronization

/// Tells tests that a call has joined or left a queue's wait list. Without it tests would have to poll.
package enum LineObserver {
  private final class Call: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static let call = AtomicLazyReference<Call>()

  /// Calls `body`, without a lock, after each change, for the rest of the process. Only the first call has an effect.
  package static func install(_ body: @escaping @Sendable () -> Void) { _ = call.storeIfNil(Call(body)) }

  static func note() { call.load()?.body() }
}
