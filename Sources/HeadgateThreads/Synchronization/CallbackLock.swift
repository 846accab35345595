/// A lock for C libraries that ask their user for one, by a call that takes it and another that gives it back. Everything
/// else uses ``Locked``, which can't be left held.
// Unchecked: it consists of the lock, which is what any thread may use.
package final class CallbackLock: @unchecked Sendable {
  private let held = Lock()

  /// A free lock.
  package init() {}

  /// Waits until it is free and takes it.
  package func lock() { held.lock() }

  /// Gives it back, on the thread that took it.
  package func unlock() { held.unlock() }
}
