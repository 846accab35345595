// One thread's place to sleep, with one token: Java's LockSupport.park and unpark on a futex word.
//
// Rejected: condition variables (glibc before 2.41 can lose a wake-up, bug 25847) and semaphores, whose deadlines
// follow the wall clock.

#if !HEADGATE_EXPLORE
import CHeadgate
import Synchronization

/// Lets one thread sleep until another hands it a token, or until a deadline.
///
/// `unpark` leaves a token if nobody sleeps, and the next `park` takes it at once, so the two may come in either order.
/// A second token before the first is taken changes nothing.
// Unchecked: `word` is a constant pointer to an atomic that lives as long as this object.
package final class Parker: @unchecked Sendable {
  private static let empty: UInt32 = 0
  private static let token: UInt32 = 1
  private static let asleep: UInt32 = 2

  private let word: UnsafeMutablePointer<Atomic<UInt32>>

  package init() {
    word = .allocate(capacity: 1)
    word.initialize(to: Atomic(Parker.empty))
  }

  deinit {
    word.deinitialize(count: 1)
    word.deallocate()
  }

  /// Takes the token, sleeping until there is one or the deadline has passed. True if it got the token.
  ///
  /// Only one thread may park on a parker. Never returns early, however often the system wakes it for nothing.
  package func park(until deadline: Deadline = .distantFuture) -> Bool {
    if word.pointee.exchange(Parker.empty, ordering: .acquiring) == Parker.token { return true }
    guard deadline > .now else { return false }
    let (slept, _) = word.pointee.compareExchange(
      expected: Parker.empty, desired: Parker.asleep, ordering: .acquiring)
    if slept {
      let address = UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self)
      while word.pointee.load(ordering: .acquiring) == Parker.asleep {
        if headgate_wait(address, Parker.asleep, deadline.nanoseconds) != 0, deadline <= .now { break }
      }
    }
    // The token may come between the end of the sleep and here: whoever empties the word decides.
    return word.pointee.exchange(Parker.empty, ordering: .acquiring) == Parker.token
  }

  /// Leaves the token and wakes the sleeper, if there is one.
  package func unpark() {
    // The object may be let go by the woken thread; the caller's own reference keeps the word alive until we return.
    if word.pointee.exchange(Parker.token, ordering: .releasing) == Parker.asleep {
      headgate_wake_one(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self))
    }
  }
}
#endif
