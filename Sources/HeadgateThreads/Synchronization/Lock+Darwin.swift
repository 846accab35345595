// The same lock on Apple's systems: os_unfair_lock, which donates the waiter's priority to the holder.

#if canImport(Darwin)
import Darwin

/// The system's unfair lock at a fixed address.
@usableFromInline
package struct Lock: ~Copyable {
  @usableFromInline let word: UnsafeMutablePointer<os_unfair_lock_s>

  @usableFromInline package init() {
    word = .allocate(capacity: 1)
    word.initialize(to: os_unfair_lock_s())
  }

  deinit {
    word.deinitialize(count: 1)
    word.deallocate()
  }

  @inlinable package borrowing func lock() { os_unfair_lock_lock(word) }
  @inlinable package borrowing func unlock() { os_unfair_lock_unlock(word) }

  #if DEBUG
  @usableFromInline borrowing func assertHeld() { os_unfair_lock_assert_owner(word) }
  @usableFromInline borrowing func assertNotHeld() { os_unfair_lock_assert_not_owner(word) }
  #else
  @inlinable borrowing func assertHeld() {}
  @inlinable borrowing func assertNotHeld() {}
  #endif
}
#endif
