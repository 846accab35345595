import Foundation

// The library has one of its own, for itself. These tests are built by another package too (Tests/TraitTest), which sees
// only what is public; and Synchronization's `Mutex` is nothing that the thread sanitizer understands.

/// A locked value that closures can share.
// Unchecked: `value` is touched while `lock` is held only.
final class LockedBox<Value: ~Copyable>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: consuming sending Value) { self.value = value }

  func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
