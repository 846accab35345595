// A mutual-exclusion lock on one futex word: the plain three-state lock.
// Ulrich Drepper, "Futexes Are Tricky" (2011), section 5, mutex 2.
//
// Rejected: Synchronization.Mutex, which is a priority-inheritance futex on Linux in Swift 6.3 and hands ownership
// over in the kernel under contention, so that threads convoy; pthread_mutex, which is no faster and needs its own
// allocation and condition variables that can lose a wake-up (glibc before 2.41).

#if !canImport(Darwin) && !HEADGATE_EXPLORE
import CHeadgate
import Synchronization

/// The lock itself, free at first.
@usableFromInline
struct Lock: ~Copyable {
  // Free (0), held (1), held with threads asleep or about to sleep (2). It has an address, which they sleep on.
  @usableFromInline let place: Place<Atomic<UInt32>>
  #if DEBUG
  @usableFromInline let owner: Atomic<UInt>
  #endif

  @inlinable init() {
    place = Place(Atomic(0))
    #if DEBUG
    owner = Atomic(0)
    #endif
  }

  @inlinable var word: UnsafeMutablePointer<Atomic<UInt32>> { place.address }

  @inlinable func lock() {
    #if DEBUG
    assertNotHeld()
    #endif
    if !word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { lockSlowly() }
    #if DEBUG
    owner.store(headgate_thread_number(), ordering: .relaxed)
    #endif
  }

  @inlinable func unlock() {
    #if DEBUG
    assertHeld()
    owner.store(0, ordering: .relaxed)
    #endif
    if word.pointee.exchange(0, ordering: .releasing) == 2 { wakeOne() }
  }

  @usableFromInline func lockSlowly() {
    // A short look before sleeping: most holds last well under a microsecond. Bounded, and none on one processor,
    // where the holder can't run while we look.
    for _ in 0..<SpinBudget.lock {
      spinPause()
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

  @usableFromInline func wakeOne() {
    headgate_wake_one(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self))
  }

  #if DEBUG
  @usableFromInline func assertHeld() {
    assert(owner.load(ordering: .relaxed) == headgate_thread_number(), "the lock is not held here")
  }

  @usableFromInline func assertNotHeld() {
    assert(owner.load(ordering: .relaxed) != headgate_thread_number(), "the lock is held here already")
  }
  #else
  @inlinable func assertHeld() {}
  @inlinable func assertNotHeld() {}
  #endif
}
#endif
