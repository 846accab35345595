/// A lock for C libraries that take a pair of lock and unlock callbacks. Everything else uses ``Locked``, which cannot
/// be left locked.
// Unchecked: its only member is the lock, which any thread may use.
package final class CallbackLock: @unchecked Sendable {
  private let held = Lock()

  /// Creates an unlocked lock.
  package init() {}

  /// Blocks the thread until the lock is free, and acquires it.
  package func lock() { held.lock() }

  /// Releases the lock. Called on the thread that acquired it.
  package func unlock() { held.unlock() }
}
