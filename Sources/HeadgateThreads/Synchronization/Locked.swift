/// A value behind a lock, reached only through a closure that holds it.
///
/// What runs in the closure decides and returns; it never resumes a continuation, calls a delegate, cancels a task or
/// lets go of an object whose deinitializer might: those act after the lock is free.
// Unchecked: `value` is touched only between `lock.lock()` and `lock.unlock()`, in `withLock` below.
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
  @usableFromInline package let lock = Lock()
  @usableFromInline package var value: Value

  @inlinable package init(_ value: consuming sending Value) {
    self.value = value
  }

  @inlinable package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }

  /// In debug builds, stops the process unless the calling thread holds the lock. Its absence is asserted by
  /// `withLock` itself.
  @inlinable package func assertHeld() { lock.assertHeld() }

  /// In debug builds, stops the process if the calling thread holds the lock: the first line of an outcall.
  @inlinable package func assertNotHeld() { lock.assertNotHeld() }
}
