// Blocks and unblocks one thread by means of one token: Java's LockSupport.park and unpark on a futex word.
//
// Rejected: condition variables (glibc before 2.41 can lose a wake-up, bug 25847) and semaphores, whose deadlines
// follow the wall clock.

import CHeadgate
import Synchronization

/// Lets one thread sleep until another thread hands it a token, or until a deadline.
///
/// `unpark` leaves a token if no thread sleeps, and the next `park` takes it at once, so the two calls may come in
/// either order. There is at most one token: a second `unpark` before the first token is taken has no effect.
// Unchecked: its only member is an atomic.
package final class Parker: @unchecked Sendable {
  private static let empty: UInt32 = 0
  private static let token: UInt32 = 1
  private static let asleep: UInt32 = 2

  private let place = Place(Atomic<UInt32>(Parker.empty))
  private var word: UnsafeMutablePointer<Atomic<UInt32>> { place.address }

  package init() {}

  /// Takes the token; sleeps until there is one or the deadline passes. Returns whether it got the token.
  ///
  /// Only one thread may park on a parker. Spurious wake-ups of the system are absorbed: the call never returns early.
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
    // The token may arrive between the end of the sleep and this line. This exchange decides which came first.
    return word.pointee.exchange(Parker.empty, ordering: .acquiring) == Parker.token
  }

  /// Leaves the token and wakes the sleeping thread, if there is one.
  package func unpark() {
    // The woken thread may release this object. The caller's own reference keeps the word alive until this call
    // returns.
    if word.pointee.exchange(Parker.token, ordering: .releasing) == Parker.asleep {
      headgate_wake_one(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self))
    }
  }
}
