import Foundation

// The library's own is internal. These tests are also built by another package (Tests/TraitTest), which sees only
// public symbols, and the thread sanitizer does not understand Synchronization's `Mutex`.

/// A locked value that closures can share.
// Unchecked: `value` is accessed only while `lock` is held.
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
