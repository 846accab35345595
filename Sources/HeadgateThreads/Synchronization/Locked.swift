import Synchronization

/// A value behind a lock, accessible only inside a closure that runs with the lock held. It is Synchronization's
/// `Mutex` on a plain futex, for this library's own use. Programs should use `Mutex`.
///
/// `Mutex` itself has two problems in Swift 6.3 on Linux. It is a priority-inheritance futex, which hands over
/// ownership in the kernel under contention and so leads to lock convoys (Lock+Linux.swift). And the thread sanitizer
/// does not see that it orders accesses to its value, so it reports false races.
///
/// The lock is not fair and knows no priorities: under contention a running thread acquires it, which keeps it fast.
/// The closure decides and returns. It never resumes a continuation, calls a delegate, cancels a task or releases an
/// object whose deinitializer might do so. The caller does these things after the lock is released.
///
/// Lock and value are stored inline in their owner, as with a `Mutex`. They need no allocation and no exclusivity
/// checks: the lock is that check.
@usableFromInline
package struct Locked<Value: ~Copyable>: ~Copyable {
  @usableFromInline let lock: Lock
  @usableFromInline let value: Place<Value>
  #if DEBUG
  // Padding after an empty value. Without it the value's address would be that of unrelated memory, and the thread
  // sanitizer would report an access to one as a race with the other.
  @usableFromInline let end: UInt8
  #endif

  /// Creates an unlocked lock with its value.
  @inlinable package init(_ value: consuming sending Value) {
    lock = Lock()
    self.value = Place(value)
    #if DEBUG
    end = 0
    #endif
  }

  /// Runs `body` with the lock held. Spins briefly for the lock (not on a single processor), then sleeps.
  ///
  /// Not reentrant: a second acquisition by the same thread traps in debug builds and hangs in release builds.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    lock.lock()
    defer { lock.unlock() }
    // A separate statement: in one expression, the thread sanitizer sees a write to the whole struct, including the
    // lock's word.
    let place = value.address
    return try body(&place.pointee)
  }

  /// In debug builds, traps unless the calling thread holds the lock. `withLock` itself asserts that the thread does
  /// not hold it.
  @inlinable package borrowing func assertHeld() { lock.assertHeld() }

  /// In debug builds, traps if the calling thread holds the lock. Functions that call out of the library begin with it.
  @inlinable package borrowing func assertNotHeld() { lock.assertNotHeld() }
}

// Unchecked: `value` is accessed only between `lock.lock()` and `lock.unlock()`, in `withLock` above.
extension Locked: @unchecked Sendable where Value: ~Copyable {}

/// A locked value that several closures can share.
package final class LockedBox<Value: ~Copyable>: Sendable {
  private let locked: Locked<Value>

  package init(_ value: consuming sending Value) { locked = Locked(value) }

  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try locked.withLock(body)
  }
}

/// The atomic type used by every lock-free algorithm of this library.
@usableFromInline
package typealias AtomicCell = Atomic

/// A value with a stable address inside its owner, mutable while the owner is borrowed. Locks keep their word and their
/// value in it.
///
/// This is the only use of underscored API in this module. `_Cell` is part of the frozen layout of Synchronization's
/// own `Atomic` and `Mutex`, and no public API gives a stored value an address. If its name changes, which the
/// underscore allows, only this file changes. Rejected: separate memory, which is one allocation for each lock, and a
/// `ManagedBuffer`, which is one object for each. Separately allocated locks slow a run of a million requests down
/// by a tenth.
@usableFromInline
struct Place<Value: ~Copyable>: ~Copyable {
  @usableFromInline let cell: _Cell<Value>

  @inlinable init(_ value: consuming Value) { cell = _Cell(value) }

  /// Valid while the owner lives. The caller ensures that accesses do not overlap.
  @inlinable var address: UnsafeMutablePointer<Value> { cell._address }
}

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
