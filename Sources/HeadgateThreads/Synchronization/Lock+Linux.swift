// A mutual-exclusion lock on one futex word: the plain three-state lock.
// Ulrich Drepper, "Futexes Are Tricky" (2011), section 5, mutex 2.
//
// Rejected: Synchronization.Mutex, which is a priority-inheritance futex on Linux in Swift 6.3 and hands ownership
// over in the kernel under contention, so that threads convoy; pthread_mutex, which is no faster and needs its own
// allocation and condition variables that can lose a wake-up (glibc before 2.41).

#if !canImport(Darwin)
import CHeadgate
import Synchronization

/// The lock itself: free (0), held (1), held with threads asleep or about to sleep (2).
@usableFromInline
package struct Lock: ~Copyable {
  // The word lives on the heap, so that its address stays the same for the kernel wherever the struct is moved.
  @usableFromInline let word: UnsafeMutablePointer<Atomic<UInt32>>
  #if DEBUG
  @usableFromInline let owner: UnsafeMutablePointer<Atomic<UInt>>
  #endif

  @usableFromInline package init() {
    word = .allocate(capacity: 1)
    word.initialize(to: Atomic(0))
    #if DEBUG
    owner = .allocate(capacity: 1)
    owner.initialize(to: Atomic(0))
    #endif
  }

  deinit {
    word.deinitialize(count: 1)
    word.deallocate()
    #if DEBUG
    owner.deinitialize(count: 1)
    owner.deallocate()
    #endif
  }

  @inlinable package borrowing func lock() {
    #if DEBUG
    assertNotHeld()
    #endif
    if !word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { lockSlowly() }
    #if DEBUG
    owner.pointee.store(headgate_thread_number(), ordering: .relaxed)
    #endif
  }

  @inlinable package borrowing func unlock() {
    #if DEBUG
    assertHeld()
    owner.pointee.store(0, ordering: .relaxed)
    #endif
    if word.pointee.exchange(0, ordering: .releasing) == 2 { wakeOne() }
  }

  @usableFromInline borrowing func lockSlowly() {
    // A short look before sleeping: most holds last well under a microsecond. Bounded, and none on one processor,
    // where the holder can't run while we look.
    for _ in 0..<SpinBudget.lock {
      headgate_pause()
      if word.pointee.load(ordering: .relaxed) == 0,
        word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
      {
        return
      }
    }
    // From here on the word says 2 when we get it, which costs one needless wake-up at most and never loses one.
    while word.pointee.exchange(2, ordering: .acquiring) != 0 {
      _ = headgate_wait(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self), 2, .max)
    }
  }

  @usableFromInline borrowing func wakeOne() {
    headgate_wake_one(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self))
  }

  #if DEBUG
  @usableFromInline borrowing func assertHeld() {
    assert(owner.pointee.load(ordering: .relaxed) == headgate_thread_number(), "the lock is not held here")
  }

  @usableFromInline borrowing func assertNotHeld() {
    assert(owner.pointee.load(ordering: .relaxed) != headgate_thread_number(), "the lock is held here already")
  }
  #else
  @inlinable borrowing func assertHeld() {}
  @inlinable borrowing func assertNotHeld() {}
  #endif
}
#endif
