import Synchronization

/// A value behind a lock, reached only through a closure that holds it: Synchronization's `Mutex` on a plain futex.
///
/// Threads that wait get no order and no priority: under contention a thread that is running takes the lock, which is
/// what keeps it fast. What runs in the closure decides and returns; it never resumes a continuation, calls a delegate,
/// cancels a task or lets go of an object whose deinitializer might: those act after the lock is free.
///
/// Lock and value are a part of their owner, as they are with a `Mutex`: they cost neither memory of their own nor the
/// checks for exclusive access that a class's variables pay for: the lock is that check.
public struct Locked<Value: ~Copyable>: ~Copyable {
  @usableFromInline let lock: Lock
  @usableFromInline let value: Place<Value>
  #if DEBUG
  // Behind an empty value, whose address would be that of somebody else's memory: the thread sanitizer would take an access
  // to the one for a race with the other.
  @usableFromInline let end: UInt8
  #endif

  /// A free lock with its value.
  @inlinable public init(_ value: consuming sending Value) {
    lock = Lock()
    self.value = Place(value)
    #if DEBUG
    end = 0
    #endif
  }

  /// Runs `body` while holding the lock. Waits for it in a short busy loop (none on one processor), then asleep.
  ///
  /// Not reentrant: in debug builds a second hold by the same thread stops the process, in release builds it hangs.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    lock.lock()
    defer { lock.unlock() }
    // Taken out first: said in one, the thread sanitizer is told of a change of the whole, the lock's own word included.
    let place = value.address
    return try body(&place.pointee)
  }

  /// In debug builds, stops the process unless the calling thread holds the lock. Its absence is asserted by
  /// `withLock` itself.
  @inlinable package borrowing func assertHeld() { lock.assertHeld() }

  /// In debug builds, stops the process if the calling thread holds the lock: the first line of an outcall.
  @inlinable package borrowing func assertNotHeld() { lock.assertNotHeld() }
}

// Unchecked: `value` is touched only between `lock.lock()` and `lock.unlock()`, in `withLock` above.
extension Locked: @unchecked Sendable where Value: ~Copyable {}

/// A locked value that closures can share.
package final class LockedBox<Value: ~Copyable>: Sendable {
  private let locked: Locked<Value>

  package init(_ value: consuming sending Value) { locked = Locked(value) }

  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try locked.withLock(body)
  }
}
