// The same lock on Apple's systems: os_unfair_lock, which donates the waiter's priority to the holder.

#if canImport(Darwin) && !HEADGATE_EXPLORE
import Darwin
import Synchronization

/// The system's unfair lock, free at first.
@usableFromInline
struct Lock: ~Copyable {
  // It has an address, which the system's calls take.
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
