// The same lock on Apple's systems: os_unfair_lock, which donates the waiter's priority to the holder.

#if canImport(Darwin) && !HEADGATE_EXPLORE
import Darwin

/// The system's unfair lock at a fixed address in memory that its owner provides.
@usableFromInline
struct Lock {
  /// The bytes that a lock takes.
  @usableFromInline static var size: Int { 16 }

  @usableFromInline let word: os_unfair_lock_t

  /// A free lock at an address that is aligned to 16 bytes.
  @usableFromInline init(at address: UnsafeMutableRawPointer) {
    word = address.initializeMemory(as: os_unfair_lock_s.self, repeating: os_unfair_lock_s(), count: 1)
  }

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
