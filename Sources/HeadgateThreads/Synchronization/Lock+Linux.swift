// A mutual-exclusion lock on one futex word: the plain three-state lock.
// Ulrich Drepper, "Futexes Are Tricky" (2011), section 5, mutex 2.
//
// Rejected: Synchronization.Mutex, which is a priority-inheritance futex on Linux in Swift 6.3. It hands over ownership
// in the kernel under contention, which leads to lock convoys. Also rejected: pthread_mutex, which is no faster and
// needs its own allocation, and condition variables that can lose a wake-up (glibc before 2.41).

#if !canImport(Darwin)
import CHeadgate
import Synchronization

/// The lock, unlocked at first.
@usableFromInline
struct Lock: ~Copyable {
  // States: unlocked (0), locked (1), locked with threads asleep or about to sleep (2). Threads sleep on the word's
  // address.
  @usableFromInline let place: Place<Atomic<UInt32>>
  #if DEBUG && !HEADGATE_EXPLORE
  @usableFromInline let owner: Atomic<UInt>
  #endif

  @inlinable init() {
    place = Place(Atomic(0))
    #if DEBUG && !HEADGATE_EXPLORE
    owner = Atomic(0)
    #endif
  }

  @inlinable var word: UnsafeMutablePointer<Atomic<UInt32>> { place.address }

  @inlinable func lock() {
    #if DEBUG && !HEADGATE_EXPLORE
    assertNotHeld()
    #endif
    if !word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { lockSlowly() }
    #if DEBUG && !HEADGATE_EXPLORE
    owner.store(headgate_thread_number(), ordering: .relaxed)
    #endif
  }

  @inlinable func unlock() {
    #if DEBUG && !HEADGATE_EXPLORE
    assertHeld()
    owner.store(0, ordering: .relaxed)
    #endif
    if word.pointee.exchange(0, ordering: .releasing) == 2 { wakeOne() }
  }

  @usableFromInline func lockSlowly() {
    // Spin briefly before sleeping: most holds last well under a microsecond. There is no spin on a single processor,
    // where the holder cannot run meanwhile.
    for _ in 0..<SpinBudget.lock {
      spinPause()
      if word.pointee.load(ordering: .relaxed) == 0,
        word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
      {
        return
      }
    }
    // From here on this thread acquires the lock by storing 2. That costs at most one needless wake-up and never loses
    // one.
    while word.pointee.exchange(2, ordering: .acquiring) != 0 {
      _ = headgate_wait(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self), 2, .max)
    }
  }

  @usableFromInline func wakeOne() {
    headgate_wake_one(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self))
  }

  #if DEBUG && !HEADGATE_EXPLORE
  @usableFromInline func assertHeld() {
    assert(owner.load(ordering: .relaxed) == headgate_thread_number(), "the calling thread does not hold the lock")
  }

  @usableFromInline func assertNotHeld() {
    assert(owner.load(ordering: .relaxed) != headgate_thread_number(), "the calling thread already holds the lock")
  }
  #else
  @inlinable func assertHeld() {}
  @inlinable func assertNotHeld() {}
  #endif
}
#endif
