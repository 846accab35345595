// The lock on Apple's systems: os_unfair_lock, which donates the waiter's priority to the holder.

#if canImport(Darwin)
import Darwin
import Synchronization

/// The system's unfair lock, unlocked at first.
@usableFromInline
struct Lock: ~Copyable {
  // The system's calls need a stable address.
  @usableFromInline let place = Place(os_unfair_lock_s())

  @inlinable init() {}

  @inlinable var word: os_unfair_lock_t { place.address }

  @inlinable func lock() { os_unfair_lock_lock(word) }
  @inlinable func unlock() { os_unfair_lock_unlock(word) }

  #if DEBUG
  @usableFromInline func assertHeld() { os_unfair_lock_assert_owner(word) }
  @usableFromInline func assertNotHeld() { os_unfair_lock_assert_not_owner(word) }
  #else
  @inlinable func assertHeld() {}
  @inlinable func assertNotHeld() {}
  #endif
}
#endif
